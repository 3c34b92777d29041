#!/usr/bin/env python3
"""Makes crates/api/data/schema.json.z and docs.json.z: what the API knows about types.

Sources, both from package registries and both Apache-2.0 (see NOTICE):
  PyPI kubernetes-validate     JSON Schema of every type: descriptions, merge keys, list types
  Go   k8s.io/api, k8s.io/apimachinery   struct tags: JSON names, pointers, omitempty, protobuf

usage: generate.py [--kubernetes 1.36] [--api v0.36.2] [--validate 1.37.0]

The output depends on the sources only. Structure and descriptions are two files because every start
needs the first and only `kubectl explain` the second.
"""
import argparse, glob, json, os, re, subprocess, sys, tempfile, zipfile, zlib

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "../../crates/api/data")
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
# Packages to read: folder in its module -> prefix of its type names.
API = ["core/v1", "apps/v1", "events/v1", "coordination/v1", "scheduling/v1", "policy/v1", "rbac/v1",
       "node/v1", "storage/v1", "discovery/v1", "batch/v1", "autoscaling/v1", "autoscaling/v2",
       "authentication/v1", "authorization/v1", "certificates/v1", "resource/v1", "networking/v1",
       "admissionregistration/v1"]
# Go types that are one value in JSON.
LEAVES = {"metav1.Time": "t", "metav1.MicroTime": "m", "resource.Quantity": "q", "intstr.IntOrString": "x",
          "runtime.RawExtension": "a", "metav1.Duration": "u", "types.UID": "s", "Time": "t", "MicroTime": "m",
          "Duration": "u", "metav1.FieldsV1": "f", "FieldsV1": "f", "string": "s", "bool": "b", "int32": "i",
          "int64": "l", "int": "l", "uint8": "i", "uint64": "l", "float64": "d", "byte": "i",
          "runtime.Object": "a", "interface{}": "a"}


def module(path, version):
    text = subprocess.run(["go", "mod", "download", "-json", f"{path}@{version}"], check=True,
                          capture_output=True, text=True, cwd=tempfile.gettempdir()).stdout
    return json.loads(text)["Dir"]


def definitions(version, kubernetes):
    folder = tempfile.mkdtemp()
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder,
                    f"kubernetes-validate=={version}"], check=True)
    archive = zipfile.ZipFile(glob.glob(folder + "/*.whl")[0])
    name = f"kubernetes_validate/kubernetes-json-schema/v{kubernetes}.0-local/_definitions.json"
    return json.loads(archive.read(name))


class Package:
    """The types of one Go package."""

    def __init__(self, folder, prefix):
        self.prefix, self.structs, self.aliases, self.imports, self.enums, self.values = prefix, {}, {}, {}, set(), {}
        for file in sorted(glob.glob(folder + "/*.go")):
            if file.endswith("_test.go") or "zz_generated" in file or file.endswith(".pb.go"):
                continue
            self.read(open(file).read())

    def read(self, text):
        for alias, path in re.findall(r'^\s+(\w+)?\s*"(k8s\.io/[^"]+)"', text, re.M):
            self.imports[alias or path.rsplit("/", 1)[-1]] = path
        for head, name, body in re.findall(r"((?:^//[^\n]*\n)*)^type (\w+) struct \{\n(.*?)^\}", text, re.M | re.S):
            self.structs[name] = self.fields(body)
        for head, name, target in re.findall(r"((?:^\s*//[^\n]*\n)*)^\s*type (\w+) ([\w.\[\]*{}]+)$", text, re.M):
            if target != "struct":
                self.aliases[name] = target
                if "+enum" in head:
                    self.enums.add(name)
        for kind, value in re.findall(r'^\s+\w+\s+(\w+)\s*=\s*"([^"]*)"', text, re.M):
            self.values.setdefault(kind, []).append(value)

    @staticmethod
    def fields(body):
        found, comment = [], []
        for line in body.splitlines():
            line = line.strip()
            if line.startswith("//"):
                comment.append(line[2:].strip())
                continue
            match = re.match(r'(?:(\w+)\s+)?(\*?[\w.\[\]*]+)\s+`(.*)`', line)
            if match:
                name, kind, tags = match.groups()
                tag = re.search(r'json:"([^"]*)"', tags)
                number = re.search(r'protobuf:"\w+,(\d+)', tags)
                parts = (tag.group(1) if tag else "").split(",")
                default = [c for c in comment if c.startswith("+default=")]
                found.append({"json": parts[0], "inline": "inline" in parts or (not name and not parts[0]), "go": kind,
                              "omitempty": "omitempty" in parts, "omitzero": "omitzero" in parts, "pb": int(number.group(1)) if number else 0,
                              "default": default[0][9:] if default else None})
            if line:
                comment = []
        return found


class Types:
    """All packages together; makes shapes and collects what is reachable."""

    def __init__(self, api, machinery, defs):
        self.packages, self.defs, self.order, self.index = {}, defs, [], {}
        for folder in API:
            self.packages["k8s.io/api/" + folder] = Package(f"{api}/{folder}", "io.k8s.api." + folder.replace("/", ".") + ".")
        self.packages["k8s.io/apimachinery/pkg/apis/meta/v1"] = Package(f"{machinery}/pkg/apis/meta/v1", META)

    def resolve(self, package, kind):
        """The package and bare name of a Go type."""
        if "." in kind:
            alias, name = kind.split(".", 1)
            return self.packages.get(package.imports.get(alias)), name
        return package, kind

    def shape(self, package, kind):
        kind = kind.lstrip("*")
        if kind in LEAVES:
            return LEAVES[kind]
        if kind == "[]byte":
            return "y"
        if kind.startswith("[]"):
            return "[" + self.shape(package, kind[2:])
        if kind.startswith("map["):
            return "{" + self.shape(package, kind.split("]", 1)[1])
        home, name = self.resolve(package, kind)
        if home is None:
            raise SystemExit(f"unknown Go type {kind} in {package.prefix}")
        if name in home.structs:
            if home.prefix + name in (META + "FieldsV1",):
                return "f"
            return "#" + str(self.add(home, name))
        return self.shape(home, home.aliases[name])

    def go_name(self, package, kind):
        """How Go names the type in errors, where the shape does not say it."""
        kind = kind.lstrip("*[]")
        home, name = self.resolve(package, kind)
        if home and name in home.aliases and home.aliases[name] == "string":
            return home.prefix.rstrip(".").rsplit(".", 1)[-1] + "." + name
        return None

    def enum(self, package, kind):
        home, name = self.resolve(package, kind.lstrip("*[]"))
        return sorted(home.values.get(name, [])) if home and name in home.enums else []

    def add(self, package, name):
        full = package.prefix + name
        if full not in self.index:
            self.index[full] = len(self.order)
            entry = {"n": full}
            self.order.append(entry)
            fields = {}
            self.flatten(package, package.structs[name], [], fields, self.defs.get(full, {}))
            entry["f"] = [fields[key] for key in sorted(fields)]
            gvks = self.defs.get(full, {}).get("x-kubernetes-group-version-kind", [])
            if gvks:
                entry["k"] = [[g["group"], g["version"], g["kind"]] for g in gvks]
            if self.defs.get(full, {}).get("x-kubernetes-map-type") == "atomic":
                entry["a"] = 1
            union = self.defs.get(full, {}).get("x-kubernetes-unions")
            if union:
                entry["u"] = union
        return self.index[full]

    def flatten(self, package, members, path, fields, schema):
        for member in members:
            if member["inline"]:
                home, name = self.resolve(package, member["go"].lstrip("*"))
                if home is None or name not in home.structs:
                    continue
                # TypeMeta travels in the envelope, never in the message itself.
                inner = None if name == "TypeMeta" else path + [member["pb"]] if member["pb"] else path
                self.flatten(home, home.structs[name], inner, fields, schema)
            elif member["json"] and member["json"] != "-":
                fields[member["json"]] = self.field(package, member, path, schema)

    def field(self, package, member, path, schema):
        name = member["json"]
        known = schema.get("properties", {}).get(name, {})
        out = {"n": name, "s": self.shape(package, member["go"])}
        if path is not None and member["pb"]:
            out["p"] = path + [member["pb"]]
        if member["go"].startswith("*"):
            out["*"] = 1
        if member["omitempty"]:
            out["o"] = 1
        if member["omitzero"]:
            out["z"] = 1
        if name in schema.get("required", []):
            out["r"] = 1
        go = self.go_name(package, member["go"])
        if go:
            out["g"] = go
        enum = self.enum(package, member["go"])
        if enum:
            out["e"] = enum
        for key, short in (("x-kubernetes-patch-strategy", "ps"), ("x-kubernetes-patch-merge-key", "pk"),
                           ("x-kubernetes-list-type", "lt"), ("x-kubernetes-list-map-keys", "lk"),
                           ("x-kubernetes-map-type", "mt")):
            if key in known:
                out[short] = known[key]
        if member["default"] is not None:
            try:
                out["d"] = json.loads(member["default"])
            except ValueError:
                pass  # a reference to a Go constant
        return out


def roots(types):
    """Every type with a kind of its own, in name order, and those that only travel."""
    for path, package in sorted(types.packages.items()):
        for name in sorted(package.structs):
            full = package.prefix + name
            if types.defs.get(full, {}).get("x-kubernetes-group-version-kind"):
                yield package, name


def documents(types):
    docs = {}
    for entry in types.order:
        known = types.defs.get(entry["n"], {})
        fields = {f["n"]: known.get("properties", {}).get(f["n"], {}).get("description", "") for f in entry["f"]}
        docs[entry["n"]] = [known.get("description", ""), {k: v for k, v in fields.items() if v}]
    for name in ("api.resource.Quantity", "util.intstr.IntOrString"):
        full = "io.k8s.apimachinery.pkg." + name
        docs[full] = [types.defs.get(full, {}).get("description", ""), {}]
    for name in ("Time", "MicroTime", "FieldsV1"):
        docs[META + name] = [types.defs.get(META + name, {}).get("description", ""), {}]
    docs["io.k8s.apimachinery.pkg.runtime.RawExtension"] = [
        types.defs.get("io.k8s.apimachinery.pkg.runtime.RawExtension", {}).get("description", ""), {}]
    return docs


def write(name, value):
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(text) + packer.flush()
    with open(os.path.join(OUT, name), "wb") as file:
        file.write(packed)
    print(f"{name}: {len(text)} bytes, packed {len(packed)}")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--kubernetes", default="1.36")
    options.add_argument("--api", default="v0.36.2")
    options.add_argument("--validate", default="1.37.0")
    args = options.parse_args()
    defs = definitions(args.validate, args.kubernetes)
    defs = defs.get("$defs", defs.get("definitions", defs))
    types = Types(module("k8s.io/api", args.api), module("k8s.io/apimachinery", args.api), defs)
    for package, name in roots(types):
        types.add(package, name)
    os.makedirs(OUT, exist_ok=True)
    write("schema.json.z", {"types": types.order})
    write("docs.json.z", documents(types))
    print(len(types.order), "types")


main()
