"""Operators on strings."""

import numpy as np
from maker import Node, Tensor, ops
from values import STRING


@ops("StringConcat")
def string_concat(m):
    shape = m.shape()
    return Node([m.tensor(STRING, shape), m.tensor(STRING, m.broadcastable(shape))])


@ops("StringNormalizer")
def string_normalizer(m):
    shape = [m.number(1, 5)] if m.chance(0.7) else [1, m.number(1, 4)]
    attributes = m.word("case_change_action", "NONE", "LOWER", "UPPER") | m.flags("is_case_sensitive")
    if m.chance(0.5):
        attributes["stopwords"] = ["a", "Bee"]
    return Node([m.tensor(STRING, shape)], attributes)


@ops("StringSplit")
def string_split(m):
    words = ["a b  c", " x ", "a,b", "", "one", "a,,b,", "1 2"]
    shape = m.shape(0, 3)
    x = m.tensor(STRING, shape)
    x = Tensor(STRING, [m.random.choice(words) for _ in range(x.array.size)])
    x.array = x.array.reshape(shape)
    attributes = {"delimiter": m.pick(",", " ", "")} if m.chance(0.6) else {}
    return Node([x], attributes | ({"maxsplit": m.number(0, 2)} if m.chance(0.4) else {}), 2)


def different_grams(m, length, count, words):
    """At most so many n-grams, all different."""
    return list({tuple(m.random.choice(words) for _ in range(length)): None for _ in range(count)})


@ops("TfIdfVectorizer")
def tfidf(m):
    """A pool of 1-grams up to 3-grams of few words, some of them of lengths that nobody asks for."""
    number = m.type("T")
    words = ["a", "Bee", "", "é", "x y"] if number == STRING else [1, 2, -3, 0, 2**31 - 1]
    shortest = m.number(1, 2)
    longest = m.number(shortest, 3)
    pool, counts = [], []
    for length in range(1, longest + m.number(0, 1) + 1):
        counts.append(sum(len(gram) for gram in pool))
        pool += different_grams(m, length, m.number(0, 5), words)
    if not pool:
        pool = [(words[0],) * len(counts)]
    columns = list(range(len(pool)))
    if m.chance(0.6):
        m.random.shuffle(columns)
    if m.chance(0.2):
        columns[0] = m.number(0, 12)
    shape = [m.number(0, 9)] if m.chance(0.5) else [m.number(1, 3), m.number(0, 8)]
    tokens = np.array([m.random.choice(words) for _ in range(int(np.prod(shape)))], dtype=object if number == STRING else np.int64)
    attributes = {"mode": m.pick("TF", "IDF", "TFIDF"), "min_gram_length": shortest, "max_gram_length": longest,
                  "max_skip_count": m.pick(0, 0, 1, 2, 5), "ngram_counts": counts, "ngram_indexes": columns,
                  "pool_strings" if number == STRING else "pool_int64s": [word for gram in pool for word in gram]}
    if m.chance(0.6):
        attributes["weights"] = [m.pick(0.5, 2.0, -1.0, 0.0, 3.25) for _ in pool]
    return Node([Tensor(number, tokens.reshape(shape))], attributes)


@ops("RegexFullMatch")
def regex(m):
    """Patterns that RE2 and Python read alike."""
    patterns = ["a*", "[a-z]+", ".*", "", "(a|b)*c?", "[^ ]+( [^ ]+)*", "\\d+", "x?y{0,2}.", "Bee", "(?i)bee", "a"]
    return Node([m.tensor(STRING, m.shape())], {"pattern": m.random.choice(patterns)})
