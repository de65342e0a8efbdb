"""The texts that a person reads in the chat, in English and Chinese."""

from typing import Final, Literal

from extractor import is_mostly_chinese

__all__ = ["CHAT", "PHRASES", "SHELL", "Language", "language_of", "say", "secret_name"]

Language = Literal["zh", "en"]

CHAT: Final = "/memory"
SHELL: Final = "gateway-memory"
"""The prefix of a command's name: in the chat, and in a shell."""

PHRASES: Final[dict[str, tuple[str, str]]] = {
    "comma": (", ", "、"),
    "none": ("none", "无"),
    "never": ("never", "还没有"),
    "unknown_command": (
        "There is no /memory {name}. Try: {commands}",
        "没有 /memory {name} 这个命令。可用：{commands}",
    ),
    "unknown_near": (
        "There is no /memory {name}. Did you mean /memory {near}? All commands: {commands}",
        "没有 /memory {name} 这个命令。是不是想用 /memory {near}？可用：{commands}",
    ),
    "not_known_whether_done": (
        "The memory was interrupted. It is not known whether this was done, so it is not repeated: {memory} history.",
        "记忆服务中断过，不知道这条命令是否已执行，因此不会再次执行。可用 {memory} history 查看。",
    ),
    "said_user": ("User: {text}", "用户：{text}"),
    "said_assistant": ("Assistant: {text}", "助手：{text}"),
    "session_was": ("Session: {text}", "会话：{text}"),
    "said_nothing": ("Nothing is remembered from {days}.", "没有 {days} 的记忆。"),
    "days_from_to": ("{first} to {last}", "{first} 至 {last}"),
    "opening_late": (
        "(A part of the memory was late and is missing here: search it before you say that something is unknown.)",
        "（记忆的一部分没能及时读出，这里缺少：说不知道之前请先搜索记忆。）",
    ),
    "left_out_chat": (
        "{count} more lines of MEMORY.md are not shown; search them with the memory_search tool or {memory} search",
        "MEMORY.md 还有 {count} 行未显示；可用 memory_search 工具或 {memory} search 搜索",
    ),
    "left_out_editor": (
        "{count} more lines of MEMORY.md are not shown; search them with the command gateway-memory search",
        "MEMORY.md 还有 {count} 行未显示；可用命令 gateway-memory search 搜索",
    ),
    "may_be_outdated": ("{text} (may be outdated)", "{text}（可能已过时）"),
    "status_title": ("Memory of {scope}, session {session}", "{scope} 的记忆，会话 {session}"),
    "status_on": ("On: {on}", "已打开：{on}"),
    "status_off": ("Off: {off}", "已关闭：{off}"),
    "status_count": ("Memories: {count}", "记忆条数：{count}"),
    "status_episodes": ("Turns kept as they were said: {count}", "保留原话的对话：{count} 轮"),
    "status_words": ("Search: by words alone", "搜索：只按词语"),
    "status_vectors": (
        "Search by meaning: {done} of {rows} memories and passages of the workspace ({encoder})",
        "语义搜索：整个工作区的 {rows} 条记忆和段落中，{done} 条已有向量（{encoder}）",
    ),
    "encoder_none": ("no encoder has made any yet", "还没有编码器生成过向量"),
    "status_words_meanwhile": ("; words alone answer meanwhile: {problem}", "；目前只按词语：{problem}"),
    "status_queue": (
        "Waiting: {rules} for the rules, {batch} for the batch, oldest {oldest_seconds} s; {outbox} to announce",
        "排队：规则 {rules} 轮，批处理 {batch} 轮，最久 {oldest_seconds} 秒；待通知 {outbox} 条",
    ),
    "status_queue_rules": (
        "Waiting: {rules} for the rules, oldest {oldest_seconds} s; {outbox} to announce",
        "排队：规则 {rules} 轮，最久 {oldest_seconds} 秒；待通知 {outbox} 条",
    ),
    "status_pending": (
        "Updates waiting: {this_session} for this session ({dropped} dropped), {all} for {sessions} sessions in all",
        "待送达的更新：本会话 {this_session} 条（已丢弃 {dropped} 条），共 {sessions} 个会话 {all} 条",
    ),
    "status_mqtt": ("MQTT: {state} since {since}{reason}", "MQTT：{state}，自 {since}{reason}"),
    "status_mqtt_counts": (
        "MQTT: {outbox} to send, oldest {oldest_seconds} s; {sent} sent, {received} received; dropped: {dropped}",
        "MQTT：待发 {outbox} 条，最久 {oldest_seconds} 秒；已发 {sent} 条，已收 {received} 条；丢弃：{dropped}",
    ),
    "mqtt_connected": ("connected", "已连接"),
    "mqtt_connecting": ("connecting", "正在连接"),
    "mqtt_waiting": ("not connected, trying again", "未连接，正在重试"),
    "status_stalled": (
        "ALARM: turns wait, and none has been processed for over a minute",
        "警报：有对话在排队，但一分多钟没有处理任何一轮",
    ),
    "status_silent": (
        "ALARM: replies are prepared, but the host hands over no turns (after_reply)",
        "警报：一直在准备回复，但宿主没有交来任何一轮对话（after_reply）",
    ),
    "status_sessions": (
        "Sessions: {open} open, {ended} ended ({saved} saved, {nothing} empty, {unsaved} unsaved, {errors} failed)",
        "会话：进行中 {open}，已结束 {ended}（已保存 {saved}，无内容 {nothing}，未能保存 {unsaved}，出错 {errors}）",
    ),
    "status_last": ("Last extraction: {at}", "上次提取：{at}"),
    "status_open": ("Open in: {processes}", "已打开此记忆的进程：{processes}"),
    "status_closed": ("Open in: no process but this one", "已打开此记忆的进程：只有当前这个"),
    "process": ("process {pid} since {since}", "进程 {pid}（自 {since}）"),
    "status_failures": ("Failures of the last 7 days: {kinds}", "最近 7 天的失败：{kinds}"),
    "status_model_rests": (
        "The model has failed repeatedly; it is asked again in some minutes",
        "模型连续失败，过几分钟再试",
    ),
    "status_failure": ("Last failure: {failure}", "上次失败：{failure}"),
    "status_no_model": ("No model: rules and episodes only", "未配置模型：只用规则和对话原话"),
    "other_process": ("of another process", "其他进程的模型"),
    "status_budget": (
        "Model calls today: {calls} of {calls_limit} ({name})",
        "今日模型调用：{calls}/{calls_limit}（{name}）",
    ),
    "status_tokens": (
        (
            "Tokens today: {input_tokens} in, {output_tokens} out, {reserved_tokens} reserved, of {tokens_limit};"
            " about ${cost:.4f}"
        ),
        (
            "今日用量：输入 {input_tokens}，输出 {output_tokens}，预留 {reserved_tokens}，上限 {tokens_limit} 个词元；"
            "约 {cost:.4f} 美元"
        ),
    ),
    "status_failed": (
        "Turns that wait since the model failed: {failed_turns} ({why}); see `gateway-memory doctor model` and `retry`",
        "模型失败的对话：{failed_turns} 轮（{why}）；见 `gateway-memory doctor model` 和 `retry`",
    ),
    "model_timeout": ("it took longer than timeoutSeconds", "用时超过 timeoutSeconds"),
    "model_connection": ("it could not be reached", "无法连接"),
    "model_overloaded": ("its server failed", "服务器出错"),
    "model_rate_limit": ("its server's limit was reached", "达到服务器的限额"),
    "model_refused": ("its server refused the key, the model or the request", "服务器拒绝了密钥、模型或请求"),
    "model_too_long": ("a message exceeds its context", "消息超出上下文"),
    "model_truncated": ("its answer did not end", "回答没有结束"),
    "model_unreadable": ("its answer was not the JSON that was asked for", "回答不是所要求的 JSON"),
    "model_redirects": (
        "its server redirects to another address, which is not followed: set baseUrl to the right one",
        "服务器重定向到别的地址，不予跟随：请把 baseUrl 设为正确的地址",
    ),
    "model_too_large": (
        "its answer was larger than any answer may be, or compressed",
        "回答超过了允许的大小，或经过压缩",
    ),
    "model_unknown": ("the log has more", "详情见日志"),
    "status_unreadable": (
        "Unreadable: {rows} rows of the journal were set aside; the index was made again {index} times",
        "无法读取：已搁置日志库记录 {rows} 条；索引已重建 {index} 次",
    ),
    "list_title": ("The newest {shown} of {total}:", "共 {total} 条，最新 {shown} 条："),
    "list_empty": ("Nothing is remembered yet.", "还没有记忆。"),
    "search_title": ("Found {count}:", "找到 {count} 条："),
    "search_words": ("(by words alone: there are no vectors now)", "（只按词语搜索：目前没有向量）"),
    "search_empty": ("Nothing found.", "没有找到。"),
    "search_late": (
        "(not everything was searched in time: ask again for the rest)",
        "（有一部分没能及时搜索完：请再搜一次）",
    ),
    "search_late_empty": (
        "Nothing was found in time: a part of the memory was late. Ask again.",
        "记忆的一部分没能及时读出，暂时没有结果。请再搜一次。",
    ),
    "search_weak": ("Weak, perhaps beside the point ({count}):", "关联较弱，仅供参考（{count} 条）："),
    "search_usage": (
        (
            "What to search for? {memory} search <words>, and before or behind them --type W|B|O · --category <name>"
            " · --since <YYYY-MM-DD> · --until <YYYY-MM-DD> · --session <key> · --kind <name> · --limit <n> · --explain"
        ),
        (
            "要搜索什么？{memory} search <关键词>，前后可加 --type W|B|O（类型）· --category <名称>（类别）"
            "· --since <年-月-日>（从）· --until <年-月-日>（到）· --session <会话>"
            "· --kind <种类> · --limit <条数>· --explain（解释）"
        ),
    ),
    "search_option": ("Not understood: {problem}.", "看不懂：{problem}。"),
    "explain": (
        "  rank {rank} = {terms}; log-odds {evidence}; {coverage} of the words, cosine {cosine}",
        "  排序 {rank} = {terms}；对数几率 {evidence}；覆盖关键词 {coverage}，余弦 {cosine}",
    ),
    "explain_listed": ("  listed by its filters alone", "  仅按筛选条件列出"),
    "term_words": ("words", "词语"),
    "term_meaning": ("meaning", "语义"),
    "term_recency": ("recency", "新近"),
    "term_importance": ("importance", "重要性"),
    "term_form": ("form", "形式"),
    "term_speaker": ("speaker", "说话人"),
    "term_date": ("date", "日期"),
    "term_turn": ("its turn", "同轮原话"),
    "term_task": ("task", "任务"),
    "term_version": ("version", "版本"),
    "forget_usage": (
        "Which one? {memory} forget <id>; the ids stand in {memory} list.",
        "忘掉哪一条？{memory} forget <编号>；编号见 {memory} list。",
    ),
    "forget_unknown": (
        "No memory is called or says “{id}”. The ids stand in {memory} list.",
        "没有编号或内容为“{id}”的记忆。编号见 {memory} list。",
    ),
    "forget_not_ours": (
        "{id} is a passage of {file}, which is never written to: edit it there.",
        "{id} 是 {file} 里的一段文字，这个文件不会被改动：请直接编辑它。",
    ),
    "forgotten": ("Forgotten: {text}", "已忘掉：{text}"),
    "forgotten_exchange": (
        "Forgotten, with what was learnt from it: {text}",
        "已忘掉这一轮对话，以及从中记下的内容：{text}",
    ),
    "forgotten_session": (
        "Forgotten: session {id} ({exchanges} exchanges), with what was learnt from it ({memories} memories).",
        "已忘掉会话 {id}（{exchanges} 轮对话），以及从中记下的内容（{memories} 条记忆）。",
    ),
    "forget_session_none": (
        "Nothing is left of a session “{id}”.",
        "会话“{id}”没有留下任何内容。",
    ),
    "forget_this": (
        "Do you mean “{text}”? {memory} forget {id} forgets it.",
        "是指“{text}”吗？{memory} forget {id} 会忘掉它。",
    ),
    "digest_usage": (
        "Of which time? {memory} digest day, week or month.",
        "哪段时间？{memory} digest day、week 或 month。",
    ),
    "digest_title": (
        "Since {since}: {learnt} learnt, {changed} changed, {forgotten} forgotten, {expired} expired.",
        "自 {since} 起：记下 {learnt} 条，更改 {changed} 条，忘掉 {forgotten} 条，过期 {expired} 条。",
    ),
    "digest_learnt": ("Learnt:", "记下："),
    "digest_changed": ("Changed:", "更改："),
    "digest_more": ("… and {number} more", "……还有 {number} 条"),
    "digest_waits": ("{number} exchanges wait to be read.", "还有 {number} 轮对话等待处理。"),
    "digest_reviews": (
        "{number} wait for your approval: {memory} review",
        "待审 {number} 条：{memory} review",
    ),
    "review_none": ("Nothing waits for review.", "没有待审的内容。"),
    "review_title": ("Not kept before you approve it ({number}):", "批准之后才会记住（{number} 条）："),
    "review_how": (
        "{memory} approve <id> [other words] · {memory} reject <id> [never]",
        "{memory} approve <编号> [换个说法] · {memory} reject <编号> [不再问]",
    ),
    "review_unsure": ("the model is not sure", "模型没有把握"),
    "review_not_said": ("says more than was said", "对话里没有足够的依据"),
    "review_contradicts": ("contradicts MEMORY.md: {text}", "与 MEMORY.md 矛盾：{text}"),
    "review_about_owner": ("somebody else says it about the owner", "是别人说的关于主人的事"),
    "review_imported": ("imported from elsewhere", "从别处导入"),
    "review_all": ("every memory is reviewed", "所有记忆都要过目"),
    "review_unknown": (
        "Nothing with the id “{id}” waits for review. The ids stand in {memory} review.",
        "没有编号为“{id}”的待审内容。编号见 {memory} review。",
    ),
    "review_of_owner": (
        "This is about the owner, so only the owner can decide on it.",
        "这条与主人有关，只能由主人决定。",
    ),
    "approve_usage": (
        "Which one? {memory} approve <id> [other words]; the ids stand in {memory} review.",
        "批准哪一条？{memory} approve <编号> [换个说法]；编号见 {memory} review。",
    ),
    "approved": ("Kept: {text} ({id})", "已记住：{text}（{id}）"),
    "approved_known": ("It is remembered already: {text}", "已经记住了：{text}"),
    "reject_usage": (
        "Which one? {memory} reject <id> [never]; the ids stand in {memory} review.",
        "拒绝哪一条？{memory} reject <编号> [不再问]；编号见 {memory} review。",
    ),
    "rejected": ("Not kept: {text}", "没有记住：{text}"),
    "rejected_for_good": ("Not kept, and not asked about again: {text}", "没有记住，以后也不再问：{text}"),
    "undone_review": ("- waits for review again: {id}", "- 重新待审：{id}"),
    "status_reviews": (
        "Waiting for your approval: {number} ({memory} review)",
        "待审：{number} 条（{memory} review）",
    ),
    "feedback_no_reply": ("There is no such reply.", "没有这次回复。"),
    "feedback_unknown": (
        "“{id}” was not considered for that reply; {memory} why tells what was.",
        "那次回复没有考虑过“{id}”；{memory} why 会列出考虑过的内容。",
    ),
    "feedback_useful": ("Noted as useful: {what}", "已记为有用：{what}"),
    "feedback_wrong": (
        "Noted as wrong: {what}. The memory itself stays; {memory} forget or correct changes it.",
        "已记为不该用：{what}。记忆本身不变；用 {memory} forget 或 correct 修改。",
    ),
    "digest_feedback": ("Feedback: {useful} useful, {wrong} wrong.", "反馈：{useful} 次有用，{wrong} 次不对。"),
    "correct_usage": (
        "Which one, and how should it read? {memory} correct <id> <text>; the ids stand in {memory} list.",
        "改写哪一条？改成什么？{memory} correct <编号> <内容>；编号见 {memory} list。",
    ),
    "correct_same": ("It says so already: {text}", "已经是这样写的：{text}"),
    "corrected": ("Now: {text} ({id})", "现在是：{text}（{id}）"),
    "pin_usage": (
        "Which one? {memory} pin <id>; the ids stand in {memory} list.",
        "移动哪一条？{memory} pin <编号>；编号见 {memory} list。",
    ),
    "pin_stands": ("It stands in MEMORY.md already: {text}", "MEMORY.md 里已经有：{text}"),
    "pin_full": (
        "MEMORY.md is full. Forget something in it first.",
        "MEMORY.md 已满，请先忘掉其中的一些内容。",
    ),
    "pinned": ("Moved to MEMORY.md: {text}", "已移入 MEMORY.md：{text}"),
    "forget_which": (
        "Which one? {memory} forget <id>",
        "忘掉哪一条？{memory} forget <编号>",
    ),
    "chat_kept": ("+ kept: {text}", "+ 已记住：{text}"),
    "chat_waits": (
        "? kept once you approve it: {text} ({memory} approve {id})",
        "? 批准之后才会记住：{text}（{memory} approve {id}）",
    ),
    "chat_no_model": ("No model is connected. One would be told:\n{context}", "没有连接模型。模型会看到：\n{context}"),
    "chat_no_model_nothing": (
        "No model is connected. No other memory concerns this message.",
        "没有连接模型。没有别的记忆与这句话有关。",
    ),
    "update_learnt": ("{text}", "{text}"),
    "update_replaced": ("changed: {text}", "已更新：{text}"),
    "update_forgotten": ("no longer holds (taken out of memory): {text}", "不再成立（已从记忆中移除）：{text}"),
    "update_deleted": ("no longer holds (deleted by hand): {text}", "不再成立（已手工删除）：{text}"),
    "update_by_hand": ("edited by hand: {text}", "手工编辑：{text}"),
    "why_none": ("There was no reply yet.", "还没有回复。"),
    "why_elsewhere": (
        "There was no reply in this session yet. The last one was in the session {session}:",
        "本会话还没有回复。最近一次回复在会话 {session}：",
    ),
    "why_recalled": ("Recalled for the last reply ({at}):", "上一次回复（{at}）用到的记忆："),
    "why_held": (" (in the session's context already, so not injected again)", "（会话的上下文里已有，没有再次注入）"),
    "why_nothing": ("Nothing was recalled for the last reply ({at}).", "上一次回复（{at}）没有用到记忆。"),
    "why_kept": ("What became of that turn:", "这一轮的处理结果："),
    "why_waits": ("That turn still waits to be read.", "这一轮还在等待处理。"),
    "why_masked": (
        "- a secret was masked, so it is not kept: keep it in a password manager",
        "- 其中的机密信息已被屏蔽，没有保存：请把它存在密码管理器里",
    ),
    "masked_tell": (
        (
            "The user asked to remember something that holds a secret ({kinds}). It was masked and is not kept. "
            "Tell the user so in this reply, in one sentence; a password manager is the place for it."
        ),
        "用户要求记住的内容里有机密信息（{kinds}），已被屏蔽，不会保存。请在这次回复里用一句话告诉用户，并建议存进密码管理器。",
    ),
    "secret_not_kept": (
        "Not kept: it holds a secret ({kinds}) and little else. A password manager is the place for it.",
        "没有保存：其中除了机密信息（{kinds}）没有别的内容。请把它存进密码管理器。",
    ),
    "secret_left_out": ("Kept without the secret in it ({kinds}).", "已保存，但不含其中的机密信息（{kinds}）。"),
    "undo_nothing": ("There is nothing to undo.", "没有可以撤销的改动。"),
    "undo_unknown": ("No change of {id} can be undone.", "{id} 没有可以撤销的改动。"),
    "undone": ("Undone, of {at}:", "已撤销 {at} 的改动："),
    "undo_by_hand": (
        "What was edited by hand since then stays as it is: undo takes back what was learnt or commanded.",
        "此后手工编辑的内容保持不变：undo 只撤销自动记住的内容和命令的改动。",
    ),
    "undo_refused": (
        "Nothing was undone: what the last change ({at}) added has been edited by hand since.",
        "没有撤销：上一次改动（{at}）新增的内容后来被手工编辑过。",
    ),
    "undo_edited": (
        "- {id} now says: {now} (was: {text}). {memory} forget {id} takes it out.",
        "- {id} 现在是：{now}（原为：{text}）。用 {memory} forget {id} 去掉它。",
    ),
    "undo_deleted": ("- {id} was deleted: {text}", "- {id} 已被删除：{text}"),
    "undo_earlier": (
        "The change before it can be undone with {memory} undo {id}: {text}",
        "更早的一次改动可以用 {memory} undo {id} 撤销：{text}",
    ),
    "undone_removed": ("- removed {id} · {text}", "- 移除 {id} · {text}"),
    "undone_restored": ("- put back {id} · {text}", "- 恢复 {id} · {text}"),
    "undone_withheld": ("Told again where it was said: {text}", "说过的地方重新可见：{text}"),
    "undone_moved": ("- moved back {id} to {file}", "- 移回 {id} 到 {file}"),
    "history_usage": (
        "Of which one? {memory} history <id>; the ids stand in {memory} list.",
        "哪一条的来历？{memory} history <编号>；编号见 {memory} list。",
    ),
    "history_unknown": ("Nothing is known of {id}.", "没有 {id} 的记录。"),
    "receipts_none": ("Nothing was read or commanded yet.", "还没有处理过对话，也没有执行过命令。"),
    "receipts_usage": (
        "How many receipts? Expected a number from 1 to 999999.",
        "要看多少条？请给 1 到 999999 之间的数。",
    ),
    "switch_unknown": ("There is no feature {name!r}. Known: {known}", "没有“{name}”这个功能。可选：{known}"),
    "switched_on": ("On in this session: {features}", "本会话已打开：{features}"),
    "switched_off": ("Off in this session: {features}", "本会话已关闭：{features}"),
    "link_code": (
        "Type this in your other direct chat within 10 minutes: {memory} link {code}\nBoth share one memory then.",
        "请在 10 分钟内在你的另一个私聊中输入：{memory} link {code}\n之后两处共用一份记忆。不要把代码告诉任何人。",
    ),
    "link_joined": (
        "Joined: this chat and {name} share one memory now. {memory} unlink takes it back.",
        "已关联：本聊天与 {name} 现在共用一份记忆。{memory} unlink 可以撤销。",
    ),
    "link_already": ("This chat and {name} share one memory already.", "本聊天与 {name} 已经共用一份记忆。"),
    "link_own": (
        "This chat has that memory already. Type the code in your other direct chat.",
        "本聊天用的就是这份记忆。请在你的另一个私聊中输入代码。",
    ),
    "link_unknown": (
        "That code is not valid, or no longer. {memory} link in your other chat gives a new one.",
        "代码无效或已过期。在另一个聊天中输入 {memory} link 可取得新代码。",
    ),
    "link_limited": (
        "Too many wrong codes. Try again in an hour.",
        "错误的代码太多，请一小时后再试。",
    ),
    "link_not_shared": (
        "A memory that several people share can't be linked. Do it in a direct chat.",
        "多人共享的记忆不能关联，请在私聊中操作。",
    ),
    "link_not_incognito": ("This session is incognito; {memory} on first.", "本会话是无痕模式；请先 {memory} on。"),
    "link_nobody": ("Nobody is known as {name}.", "没有名为 {name} 的人。"),
    "link_usage": (
        "Whom? {memory} link user:NAME joins this memory with that person's.",
        "与谁关联？{memory} link user:名字 会把这份记忆与那个人的合为一份。",
    ),
    "link_not_owner": (
        "The owner's chats are named in the config: agents.defaults.memorySync.identity.owner.",
        "主人的聊天写在配置里：agents.defaults.memorySync.identity.owner。",
    ),
    "unlink_none": ("This chat is linked to no other one.", "本聊天没有关联。"),
    "unlinked": (
        "Apart again: this chat and {name}. Each has what it brought, without what was forgotten since.",
        "已分开：本聊天与 {name}。各自拿回原有的记忆，其间忘掉的除外。",
    ),
    "incognito": (
        "Incognito: nothing of this session is kept, and nothing is recalled, until /memory on.",
        "无痕模式：本会话不保存、不召回任何记忆，直到 /memory on。",
    ),
}
"""Phrases by name, each in English and in Chinese; `str.format` ignores values that a phrase doesn't name."""


_SECRETS: Final[dict[str, str]] = {
    "password": "密码",
    "key": "密钥",
    "token": "令牌",
    "secret": "密钥",
    "private key": "私钥",
    "card number": "卡号",
    "identity number": "身份证号",
    "passport number": "护照号",
    "social security number": "社会保障号",
    "session id": "会话标识",
    "pin": "PIN 码",
    "code": "口令码",
    "recovery phrase": "助记词",
    "document number": "证件号",
    "account number": "账号",
    "api key": "密钥",
    "cookie": "Cookie",
    "bearer token": "令牌",
}
"""Kinds of secrets in Chinese. A kind that is missing here is shown by its issuer's name, as in English."""


def secret_name(language: Language, kind: str) -> str:
    """Return the name of a kind of secret in the user's language."""
    return _SECRETS.get(kind, kind) if language == "zh" else kind


def language_of(text: str) -> Language:
    """Return the main language of a text."""
    return "zh" if is_mostly_chinese(text) else "en"


def say(language: Language, phrase: str, /, **values: object) -> str:
    """Return a phrase in a language, with its values filled in. `memory`: the prefix of a command's name."""
    return PHRASES[phrase][language == "zh"].format(**{"memory": CHAT, **values})
