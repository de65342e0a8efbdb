"""Words that carry no topic, left out of the index and of queries. Plain lists, meant to be read and edited."""

__all__ = ["ENGLISH_STOP_WORDS", "HAN_STOP_BIGRAMS"]

# The usual function words, with the contractions' halves that the tokeniser leaves behind ("don't" -> don, t).
ENGLISH_STOP_WORDS = frozenset(
    """
    a about above after again against ain all also am an and any are aren as at be because been before being below
    between both but by can cannot could couldn d did didn do does doesn doing don down during each few for from further
    had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself
    just let ll m ma me might mightn more most must mustn my myself need needn no nor not now o of off on once only or
    other our ours ourselves out over own please re s same shan she should shouldn so some such t than that the their
    theirs them themselves then there these they this those through to too under until up us ve very was wasn we were
    weren what when where which while who whom whose why will with won would wouldn y yes yeah ok okay hi hello hey
    thanks thank you your yours yourself yourselves
    """.split()
)

# Bigrams of questions, pronouns and politeness; with some thousand memories in a scope, their idf is still too high.
HAN_STOP_BIGRAMS = frozenset(
    """
    我的 你的 他的 她的 我们 你们 他们 她们 我在 我是 你是 是我 我有 我会 我想 你能 能不 不能 可以 以吗 什么 么的 的是 是什
    怎么 么样 这个 那个 一个 一下 个什 哪些 些什 有什 没有 有没 是不 不是 是否 的吗 了吗 吗我 呢我 给我 帮我 请问 请帮 告诉
    诉我 知道 道我 道吗 还有 就是 因为 所以 但是 如果 或者 以及 而且 然后 这样 那样 这些 那些 的时 时候 的人 觉得 得我 和你
    和我 跟我 跟你 对我 对你 谢谢 你好 您好 好的 的呢 了什 过什 么时 为什 么我 过的
    """.split()
)
