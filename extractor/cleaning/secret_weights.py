"""The weights of the score, as `benchmarks/masking.py --fit` writes them."""

from typing import Final

__all__ = ["WEIGHTS"]

WEIGHTS: Final[dict[str, float]] = {
    "access hash": 0.02, "access long": 0.03, "access mixed": 0.01, "access signed": -1.22, "access strong": 0.67, "account d": 0.13, "account d8": 0.04,
    "account groups": 0.57, "account long": 0.01, "answer capital": 0.11, "answer han": 0.06, "answer phrase": 0.01, "answer word": 0.22, "at digits": -1.04,
    "at mixed": -0.41, "at none": -0.3, "at word": 0.33, "bad": -1.56, "bad next": 0.8, "bare d4": 0.13, "bare d8": 0.02, "bare hash": 0.03, "between": -0.76,
    "bias": 1.94, "card d": 0.06, "card groups": 0.24, "card hex": 0.01, "card parts": 0.02, "code": -2.74, "code d3": 0.02, "code d4": 0.66, "code d8": 0.04,
    "code groups": 0.08, "code hash": 0.15, "code mixed": 0.01, "code parts": 0.05, "code spoken": 0.06, "code word": 0.01, "code year": -0.05, "comma": 1.09,
    "cookie hex": 0.06, "cookie ident": 0.21, "cookie long": 0.14, "cookie mixed": 0.01, "cookie path": -0.11, "cookie short": 0.02, "cookie strong": 0.04,
    "digits and": 0.3, "digits attached": 0.21, "digits before is my": 0.05, "digits before words": 0.15, "digits beside": -0.56, "digits comma": 0.18,
    "digits copula": 0.5, "digits dash": 0.01, "digits sign": 0.43, "digits to": 0.45, "digits words": -1.99, "doc d": 0.79, "doc d4": -0.94, "doc d8": -0.45,
    "doc doc": 0.66, "doc groups": 0.15, "doc hex": 0.06, "doc mixed": 0.01, "doc name": 0.17, "doc odd": -0.53, "doc strong": 0.01, "doc year": -0.25,
    "ends": 1.82, "foreign mixed": 0.11, "foreign strong": 0.01, "foreign word": 0.11, "group access": -0.5, "group account": 0.75, "group answer": 0.41,
    "group bare": 0.18, "group card": 0.32, "group code": 1.04, "group cookie": 0.37, "group doc": -0.31, "group foreign": 0.24, "group key": -0.3,
    "group otp": -0.55, "group passphrase": 0.54, "group password": -0.12, "group phrase": 0.34, "group pin": -0.91, "group secret": -0.82, "group token": -0.67,
    "han": -0.17, "han copula": 0.19, "han sign": 0.15, "key groups": 0.32, "key hex": 0.28, "key ident": -0.96, "key long": 0.51, "key mixed": -0.06,
    "key name": 0.12, "key path": -0.29, "key plate": 0.05, "key short": 0.07, "key signed": 0.18, "key signs": -0.72, "key word": 0.22, "line": -1.55,
    "link and": -0.5, "link attached": 0.7, "link before beside": -0.37, "link before is my": 0.41, "link before words": 0.22, "link below": 0.98,
    "link beside": 0.07, "link comma": 0.36, "link copula": 0.03, "link dash": 0.47, "link sign": 0.27, "link to": -0.68, "link words": -1.96, "mixed and": 0.16,
    "mixed attached": 0.07, "mixed before beside": 0.01, "mixed before is my": 0.2, "mixed before words": 0.07, "mixed below": 0.85, "mixed beside": 0.63,
    "mixed comma": 0.03, "mixed copula": 0.25, "mixed dash": 0.37, "mixed sign": 0.5, "mixed to": 0.54, "mixed words": 0.04, "none and": -0.11,
    "none attached": 0.02, "none before beside": -0.38, "none before is my": -0.65, "none beside": -0.73, "none copula": -0.88, "none dash": 0.34,
    "none sign": -1.38, "none to": -0.3, "otp d3": 0.19, "otp d4": 0.13, "otp d8": 0.31, "otp groups": -0.46, "otp odd": -0.45, "otp signed": 0.14,
    "otp tiny": -0.57, "otp year": 0.15, "owner": -0.53, "owner of the name": -0.96, "passed": 1.25, "passphrase mixed": 0.24, "passphrase phrase": 0.01,
    "passphrase quoted": 0.01, "passphrase signed": 0.02, "passphrase signs": 0.23, "passphrase word": 0.02, "password capital": 0.11, "password d3": -0.19,
    "password d4": -0.42, "password d8": 0.59, "password han": 0.28, "password ident": -0.96, "password mixed": 0.65, "password path": 0.14,
    "password phrase": 0.03, "password quoted": 0.26, "password short": 0.09, "password signed": 0.51, "password signs": -1.23, "password spoken": 0.11,
    "password strong": 0.46, "password tiny": -0.18, "password word": 0.01, "password year": -0.38, "phrase before is my": 0.12, "phrase beside": 0.02,
    "phrase comma": 0.01, "phrase copula": 0.22, "phrase dash": 0.03, "phrase phrase": 0.25, "phrase sign": 0.18, "phrase spoken": 0.04, "phrase word": 0.05,
    "pin d3": -0.42, "pin d4": 1.16, "pin d8": 0.53, "pin odd": -0.55, "pin spoken": -1.03, "pin strong": 0.02, "pin tiny": -0.68, "pin year": 0.05,
    "question": 0.08, "secret hex": 0.09, "secret ident": -0.02, "secret long": 0.12, "secret mixed": 0.21, "secret path": -0.2, "secret signed": 0.2,
    "secret signs": -0.07, "secret strong": 0.02, "secret word": -1.16, "shape capital": 0.22, "shape d": 0.98, "shape d3": -0.39, "shape d4": 0.73,
    "shape d8": 1.09, "shape doc": 0.66, "shape groups": 0.9, "shape han": 0.34, "shape hash": 0.2, "shape hex": 0.58, "shape ident": -1.74, "shape long": 0.93,
    "shape mixed": 1.3, "shape name": 0.29, "shape odd": -1.53, "shape parts": 0.07, "shape path": -1.11, "shape phrase": 0.3, "shape plate": 0.05,
    "shape quoted": 0.28, "shape short": 0.21, "shape signed": 0.02, "shape signs": -2.36, "shape spoken": -0.82, "shape strong": 1.23, "shape tiny": -1.44,
    "shape word": -0.51, "shape year": -0.47, "stop": 0.21, "token hex": 0.09, "token long": 0.14, "token mixed": 0.1, "token path": -0.65, "token short": 0.03,
    "token signed": 0.19, "token signs": -0.57, "unknown": -0.64, "verb": 0.16, "word and": -0.85, "word attached": 0.4, "word before is my": 0.68,
    "word below": 0.13, "word beside": 0.71, "word comma": 0.14, "word copula": -0.24, "word dash": -0.27, "word sign": 0.38, "word to": -1.36,
}  # fmt: skip
