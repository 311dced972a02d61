"""Cases of cases.py around attention: products of one value that become one, and what is read by strides where it lies."""

import numpy as np

LOW = ("cudasim:libraries=off,cpu", "cudasim,cpu")
WEIGHTS = {name: (5, 4) for name in "wvu"}
BIASES = {name: (4,) for name in "klm"}
SMALL = ("cpu", "cudasim:libraries=off,cpu", "cudasim,cpu")


def sibling_cases(case):
    two = "a=MatMul(x,w) b=MatMul(x,v) y=Mul(a,b)"
    three = "a=MatMul(x,w) d=Add(a,k) b=MatMul(x,v) e=Add(b,l) c=MatMul(x,u) f=Add(m,c) g=Mul(d,e) y=Mul(g,f)"
    joined = "JoinedMatMul Mul"
    for shape in ((3, 5), (2, 3, 5), ("n", 3, 5), (1, 5)):
        yield case("siblings", two, {"x": shape}, WEIGHTS, joined, symbols={"n": 2}, chains=LOW)
        yield case("siblings", three, {"x": shape}, {**WEIGHTS, **BIASES}, joined + " Mul", symbols={"n": 2}, chains=LOW)
    yield case("siblings", three, {"x": (3, 5)}, {**WEIGHTS, **BIASES}, joined + " Mul", dtype="float16", chains=LOW)
    yield case("siblings", two, {"x": (3, 64)}, {"w": (64, 72), "v": (64, 72)}, joined, dtype="float16", chains=LOW)
    # What is read before the last of them stood there; the third is of another shape.
    yield case("siblings", "a=MatMul(x,w) r=Neg(a) b=MatMul(x,v) c=MatMul(x,u) s=Mul(r,b) y=Add(s,c)", {"x": (3, 5)}, {**WEIGHTS, "u": (5, 1)},
               "JoinedMatMul Neg MatMul Mul Add", chains=LOW)
    many = "".join(f"a{i}=MatMul(x,w{i}) b{i}=Neg(a{i}) " for i in range(5)) + "y=Sum(b0,b1,b2,b3,b4)"
    yield case("siblings", many, {"x": (3, 5)}, {f"w{i}": (5, 4) for i in range(5)}, "JoinedMatMul Neg Neg Neg Neg MatMul Neg Sum", chains=LOW)


def not_siblings(case):
    x = {"x": (3, 5)}
    yield case("bias", "a=MatMul(x,w) d=Add(a,k) b=MatMul(x,v) y=Mul(d,b)", x, {**WEIGHTS, **BIASES}, "FusedMatMul MatMul Mul", index=1, chains=LOW)  # of one alone
    yield case("each reads another value", "r=Relu(x) a=MatMul(x,w) b=MatMul(r,v) y=Mul(a,b)", x, WEIGHTS, "", chains=LOW)
    yield case("weights that are not constants", "a=MatMul(x,w) b=MatMul(x,v) y=Mul(a,b)", {**x, "w": (5, 4), "v": (5, 4)}, {}, "", chains=LOW)
    yield case("siblings on cpu", "a=MatMul(x,w) b=MatMul(x,v) y=Mul(a,b)", x, WEIGHTS, "", chains=("cpu",))


# ---- strides ----

HEADS = "a=MatMul({q},{k}) h=Softmax(a) y=MatMul(h,{v})"
X = {"x": (2, 5, 8)}
PACKED = {"w": (8, 36), "s": np.array([0, 0, 3, 4]), "s5": np.array([0, 0, 3, 3, 4])}
TURN = "qr=Reshape(q,s) qt=Transpose<perm=[0,2,1,3]>(qr) kr=Reshape(k,s) kt=Transpose<perm=[0,2,3,1]>(kr) vr=Reshape(v,s) vt=Transpose<perm=[0,2,1,3]>(vr) "
SPLIT = "p=MatMul(x,w) q,k,v=Split<axis=-1>(p) " + TURN + HEADS.format(q="qt", k="kt", v="vt")
SLICED = ("p=MatMul(x,w) q=Slice(p,n0,n12,two) k=Slice(p,n12,n24,two) v=Slice(p,n24,n36,two) " + TURN + HEADS.format(q="qt", k="kt", v="vt"))
PLACES = {f"n{i}": np.array([i]) for i in (0, 12, 24, 36)} | {"two": np.array([2])}
GATHERED = ("p=MatMul(x,w) r=Reshape(p,s5) t=Transpose<perm=[2,0,3,1,4]>(r) q=Gather(t,i0) k=Gather(t,i1) v=Gather(t,i2) "
            "kt=Transpose<perm=[0,1,3,2]>(k) " + HEADS.format(q="q", k="kt", v="v"))
INDICES = {f"i{i}": np.array(i) for i in range(3)}
ATTENTION = " FusedAttention"


def strided_cases(case):
    split, turned = "MatMul Split" + " Reshape" * 3 + ATTENTION, "MatMul Reshape Transpose Gather Gather Gather" + ATTENTION
    for dtype, chains in (("float32", SMALL), ("float16", LOW)):
        more = {"index": 0, "dtype": dtype, "chains": chains}
        yield case("attention", SPLIT, X, PACKED, split, views=("q",), **more)
        yield case("attention", SLICED, X, PACKED | PLACES, "MatMul Slice Slice Slice" + " Reshape" * 3 + ATTENTION, views=("q", "k", "v"), **more)
        yield case("attention", GATHERED, X, PACKED | INDICES, turned, views=("t", "q", "k", "v"), **more)
    # A batch of one, lengths that are known in the run alone, and a value that is read by others too.
    yield case("attention", GATHERED, {"x": (1, 5, 8)}, PACKED | INDICES, turned, views=("t", "q", "k", "v"), chains=SMALL)
    yield case("attention", GATHERED, {"x": ("n", "m", 8)}, PACKED | INDICES, turned, symbols={"n": 3, "m": 4}, chains=SMALL)
    yield case("attention", SPLIT, {"x": ("n", "m", 8)}, PACKED, split, symbols={"n": 2, "m": 1}, chains=SMALL)
    yield case("attention", SPLIT, X, PACKED, split, views=(), outputs=("y", "q"), chains=SMALL)
    yield case("attention", SPLIT.replace(" a=", " other=Relu(v) a="), X, PACKED, "MatMul Split" + " Reshape" * 3 + " Relu" + ATTENTION, views=(),
               outputs=("y", "other"), chains=SMALL)
    # Axes that are merged behind a Transpose: no strides tell where they are, so that it runs, but for a batch of one row.
    merged = "p=MatMul(x,w) t=Transpose<perm=[0,2,1]>(p) q=Reshape(t,merge) " + HEADS.format(q="q", k="k", v="v")
    for rows, views in ((5, ()), (1, ("t",))):
        keys = {"x": (2, rows, 8), "k": (2, 6 * rows, 7), "v": (2, 7, 4)}
        yield case("attention", merged, keys, {"w": (8, 36), "merge": np.array([2, 6, 6 * rows])}, "MatMul Transpose Reshape" + ATTENTION, views=views, chains=SMALL)
