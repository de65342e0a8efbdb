// What the service takes at once: texts that are too long are cut, and say so.

const LEAST_BYTES = 1_000;
const TEXTS = ["user", "reply", "message", "text", "query", "content"];

const sizeOf = (value) => Buffer.byteLength(JSON.stringify(value));

function shortened(text, bytes) {
  const size = sizeOf(text);
  if (size <= bytes) return text;
  const kept = text.slice(0, Math.floor((text.length * bytes) / size));
  const left = text.length - kept.length;
  return `${kept}\n[… ${left} more characters were too long for the memory. 其余 ${left} 个字符过长，记忆没有收下。]`;
}

// A body of at most so many bytes, and how many characters were cut off: {body, cut}. Its other fields stay.
export function fitting(body, bytes) {
  const names = TEXTS.filter((name) => typeof body[name] === "string");
  const length = (each) => names.reduce((sum, name) => sum + each[name].length, 0);
  let fitted = body;
  for (let most = bytes; sizeOf(fitted) > bytes && most > LEAST_BYTES / 10; most *= 0.8) {
    fitted = { ...body, ...Object.fromEntries(names.map((name) => [name, shortened(body[name], most)])) };
  }
  return { body: fitted, cut: Math.max(0, length(body) - length(fitted)) };
}

// Send a body, cut as far as the service takes it, if need be again. send: async (body) => the answer; it throws
// {code: "too_large"}. cut: called with the number of characters that were left out.
export async function sendFitting(body, bytes, send, cut) {
  for (let most = bytes; ; most /= 2) {
    const fitted = fitting(body, most);
    try {
      const answer = await send(fitted.body);
      if (fitted.cut) cut(fitted.cut);
      return answer;
    } catch (error) {
      if (error.code !== "too_large" || most < 2 * LEAST_BYTES) throw error;
    }
  }
}
