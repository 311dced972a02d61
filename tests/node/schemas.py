"""Holds every operator row of `tinyort ops --json` against the schemas of the packages onnx and onnxruntime.

Usage: schemas.py TINYORT. For each row: the version exists, and `until` ends where the next one begins; it fits the schema:
names, optional and variadic marks and types of inputs and outputs, kinds, defaults and required marks of attributes. For each
operator that has a row, every version has one, and no two overlap. A version that only deprecates an operator counts as none:
old files still use it. An operator of a schema has rows, or is refused by its name or its domain, never both. Operators of our own domain, which no
schema can know, are not counted.
"""

import json
import struct
import subprocess
import sys
from pathlib import Path

import onnx.defs
from onnx import AttributeProto

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from schemas import schemas_by_operator  # noqa: E402

# The newest version of each domain; the main one's is the build's TORT_NEWEST_OPSET.
NEWEST = {"": onnx.defs.onnx_opset_version(), "ai.onnx.ml": 5, "ai.onnx.preview": 1, "ai.onnx.preview.training": 1, "com.microsoft": 1}
OWN_DOMAIN = "tinyort"


def check_until(row, versions):
    later = [since for since, schema in versions.items() if since > row["since"] and not schema.deprecated]
    end = min(later) - 1 if later else NEWEST[row["domain"]]
    if row["until"] != end:
        yield f"until is {row['until']}, where the version ends with {end}"


def check_formals(row, what, formals):
    given = row[what]
    if len(given) != len(formals):
        yield f"{what}: {len(given)}, the schema has {len(formals)}"
        return
    for ours, theirs in zip(given, formals):
        where = f"{what} {theirs.name}"
        if ours["name"] != theirs.name.rstrip("."):  # "outputs..." of Split-1
            yield f"{where}: called {ours['name']}"
        mode = "?" if ours["optional"] else "+" if ours["mixed"] else "*" if ours["variadic"] else ""
        if mode != theirs.mode:
            yield f"{where}: the mark is '{mode}', the schema's is '{theirs.mode}'"
        if ours["types"] is None:
            yield f"{where}: the row's types are malformed"
            continue
        types, wanted = set(ours["types"]), set(theirs.types)
        if types != wanted:
            yield f"{where}: types lack {sorted(wanted - types)}, exceed by {sorted(types - wanted)}"


def same_default(kind, text, wanted):
    """Is a row's text the default of the schema? Floats are compared as the 32-bit numbers that both stand for."""
    as_float = lambda value: struct.pack("f", float(value))
    if kind == AttributeProto.INT:
        return int(text) == wanted
    if kind == AttributeProto.FLOAT:
        return as_float(text) == as_float(wanted)
    if kind == AttributeProto.STRING:
        return text == wanted.decode()
    if kind == AttributeProto.INTS:
        return [int(word) for word in text.split(",") if word] == list(wanted)
    if kind == AttributeProto.FLOATS:
        return [as_float(word) for word in text.split(",") if word] == [as_float(value) for value in wanted]
    if kind == AttributeProto.STRINGS:
        return [word for word in text.split(",") if word] == [value.decode() for value in wanted]
    return False


def check_attributes(row, schema):
    ours = {attribute["name"]: attribute for attribute in row["attributes"]}
    for name in ours.keys() ^ schema.attributes.keys():
        yield f"attribute {name}: " + ("not in the schema" if name in ours else "missing")
    for name, theirs in schema.attributes.items():
        if name not in ours:
            continue
        attribute = ours[name]
        if attribute["kind"] != theirs.kind:
            yield f"attribute {name}: kind is {attribute['kind']}, the schema's is {theirs.kind}"
        if attribute["required"] != theirs.required:
            yield f"attribute {name}: required is {attribute['required']}"
        if (attribute["default"] is None) != (theirs.default is None):
            yield f"attribute {name}: default is {attribute['default']}, the schema's is {theirs.default}"
        elif theirs.default is not None and not same_default(theirs.kind, attribute["default"], theirs.default):
            yield f"attribute {name}: default is {attribute['default']}, the schema's is {theirs.default}"


def check_row(row, versions):
    schema = versions.get(row["since"])
    if schema is None:
        return [f"there is no version {row['since']}, but {sorted(versions)}"]
    problems = list(check_until(row, versions))
    problems += check_formals(row, "inputs", schema.inputs)
    problems += check_formals(row, "outputs", schema.outputs)
    return problems + list(check_attributes(row, schema))


def main():
    text = subprocess.run([sys.argv[1], "ops", "--json"], check=True, capture_output=True, text=True).stdout
    told = json.loads(text)
    rows, refused = told["operators"], {(one["domain"], one["name"]) for one in told["refused"]}
    schemas = schemas_by_operator()
    passed = failed = 0
    covered = {}
    for row in rows:
        if row["domain"] == OWN_DOMAIN:
            continue
        name = f"{row['domain']}{'.' if row['domain'] else ''}{row['name']}-{row['since']}"
        key = (row["domain"], row["name"])
        covered.setdefault(key, []).append(row)
        problems = check_row(row, schemas[key]) if key in schemas else ["no schema has such an operator"]
        for problem in problems:
            print(f"FAILED {name}: {problem}")
        passed += not problems
        failed += bool(problems)
    for key, own in sorted(covered.items()):
        for since, schema in sorted(schemas.get(key, {}).items()):
            count = sum(row["since"] <= since <= row["until"] for row in own)
            if count != 1 and not schema.deprecated:
                print(f"FAILED {key[1]}: version {since} has {count} rows")
                failed += 1
    for key in sorted(schemas):
        known = (key in covered) + (key in refused or (key[0], None) in refused)
        passed, failed = passed + (known == 1), failed + (known != 1)
        if known != 1:
            print(f"FAILED {key[0]}.{key[1]}: " + ("has rows, and is refused" if known else "has no row, and is not refused"))
    print(f"schemas: {passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
