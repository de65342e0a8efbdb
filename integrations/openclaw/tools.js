// The tools of the model. Their results reach it unabridged ("direct-only"); whose memory it is says the host's context.

const text = (words, details = {}) => ({ content: [{ type: "text", text: words }], details });
const string = (description) => ({ type: "string", description });

const LATE = "Not everything was searched: search again for the rest.";

const TOOLS = [
  {
    name: "memory_search",
    label: "Search memory",
    description: "Search what was said and kept in this person's earlier conversations, on any channel.",
    path: "/v1/search",
    parameters: {
      type: "object",
      additionalProperties: false,
      required: ["query"],
      properties: {
        query: string("What to look for, in words"),
        limit: { type: "integer", minimum: 1, maximum: 50, description: "The most hits (default: 10)" },
        since: string("Only what was said since this day, YYYY-MM-DD"),
        until: string("Only what was said until this day, YYYY-MM-DD"),
      },
    },
    read: listed,
  },
  {
    name: "memory_get",
    label: "Read memory",
    description: "Read one hit of memory_search in full, with what stood around it.",
    path: "/v1/get",
    parameters: {
      type: "object",
      additionalProperties: false,
      required: ["hit"],
      properties: {
        hit: string("The id that memory_search gave"),
        around: { type: "integer", minimum: 0, maximum: 10, description: "How many exchanges before and after it" },
      },
    },
    read: listed,
  },
  {
    name: "save_fact",
    label: "Remember",
    description: "Remember one fact for later conversations, when the person asks for it or corrects something.",
    path: "/v1/save_fact",
    writes: true,
    parameters: {
      type: "object",
      additionalProperties: false,
      required: ["content"],
      properties: { content: string("The fact, in one sentence that stands alone") },
    },
    read: ({ memory }) => (memory ? `Remembered as ${memory}.` : "It was known already, or it is not to be kept."),
  },
];

function listed({ hits, outcome }) {
  const late = outcome === "partial" || outcome === "timeout" ? [LATE] : [];
  if (!hits?.length) return late.length ? `Nothing was found in time. ${LATE}` : "Nothing was found.";
  const lines = hits.map(({ id, kind, text: words, at }) => `[${id}] ${kind}${at ? `, ${at}` : ""}: ${words}`);
  return [...lines, ...late].join("\n");
}

// Register the tools. call: async (tool, context, parameters, callId) => the service's answer.
export function registerTools(api, call) {
  for (const tool of TOOLS) {
    const { name, label, description, parameters, read } = tool;
    const create = (context) => {
      call.seen(context);
      return {
        name,
        label,
        description,
        parameters,
        catalogMode: "direct-only",
        async execute(callId, given) {
          try {
            const answer = await call(tool, context, given, callId);
            return text(read(answer), answer);
          } catch (error) {
            return text(`The memory cannot be asked now: ${call.words(error)}`, { failed: true });
          }
        },
      };
    };
    api.registerTool(create, { name });
  }
}
