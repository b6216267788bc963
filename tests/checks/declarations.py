# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
"""What a header declares for those who include it: the names of namespace pumice and of the namespaces in it but `detail`,
each with its declaration, the `///` lines above it, and the public members of a class. Enough of C++ for these headers:
namespaces, templates, functions, variables, classes, enumerations, aliases, concepts, PUMICE_OP."""
import re
from dataclasses import dataclass, field

TOKEN = re.compile(r"""(?P<doc>///[^\n]*)|(?P<comment>//[^\n]*|/\*.*?\*/)
    |(?P<line>^[ ]*\#(?:[^\n\\]|\\.)*(?:\\\n(?:[^\n\\]|\\.)*)*)
    |(?P<text>R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+')
    |(?P<space>\s+)|(?P<word>[A-Za-z_]\w*|\d[\w.']*)|(?P<mark_>::|->|&&|==|<=|>=|!=|<<|[^\w\s])""", re.S | re.M | re.X)
HIDDEN = {"detail", "op", "rules", "std"}
# The whole body of an overload that answers a wrong call by the name of a type that is never defined.
ANSWER = re.compile(r"\s*return [a-z0-9]+(_[a-z0-9]+){3,}<[^;]*>\{\};\s*")


@dataclass
class Declaration:
    name: str
    kind: str                                # function, class, enum, variable, alias, concept, op
    text: str                                # on one line, without its body
    doc: str
    scope: str = ""                          # of a namespace within pumice
    members: list = field(default_factory=list)
    deprecated: bool = False
    grouped: bool = False                    # follows another declaration without an empty line: its `///` serves both


def tokens(source):
    at = 0
    while at < len(source):
        found = TOKEN.match(source, at)
        kind = found.lastgroup
        if kind == "mark":
            kind = "text"
        at = found.end()
        if kind in ("comment", "line"):
            if kind == "comment":
                yield "comment", found.group()
            continue
        yield kind, found.group()


def collapse(parts):
    text = re.sub(r"\s+", " ", "".join(parts)).strip()
    return re.sub(r"\b(PUMICE_FUNCTION|PUMICE_API|inline|constexpr inline) ", "", text)


def after_template(text):
    while (found := re.match(r"template ?<", text)):
        depth, at = 1, found.end()
        while depth:
            depth += {"<": 1, ">": -1, "(": 100, ")": -100}.get(text[at], 0) if text[at - 1:at + 1] != "->" else 0
            at += 1
        text = text[at:].lstrip()
    return text


def name_of(text):
    """Kind and name of what a declaration declares; None for one that declares nothing of its own."""
    text = after_template(re.sub(r"\[\[[^\]]*\]\] ?", "", text))
    text = re.sub(r"^requires ?\(.*?\)\)? (?=[a-z])", "", text) if text.startswith("requires") else text
    if found := re.match(r"PUMICE_OP\((\w+),", text):
        return "op", found.group(1)
    if found := re.match(r"concept (\w+)", text):
        return "concept", found.group(1)
    if found := re.match(r"using (\w+)\s*=", text):
        return "alias", found.group(1)
    if found := re.match(r"using (?:\w+::)*(\w+)$", text):
        return "alias", found.group(1)
    if found := re.match(r"enum(?: class| struct)? (\w+)", text):
        return "enum", found.group(1)
    if found := re.match(r"(?:class|struct|union) (?:alignas\([^)]*\) )?(\w+)(<)?", text):
        return None if found.group(2) else ("class", found.group(1))
    if re.match(r"(friend|static_assert|extern template|template|using|typedef|namespace|PUMICE_\w+\(|#)", text):
        return None
    head = text
    # A function's name stands before its first parenthesis outside of <>.
    depth = 0
    for at, letter in enumerate(head):
        if head.startswith("operator", at) and not (at and (head[at - 1].isalnum() or head[at - 1] == "_")):
            found = re.match(r"operator *(\(\)|\[\]|[^\s\w(]+|[^(]+)", head[at:])
            return "function", "operator" + found.group(1).strip()
        if letter == "<":
            depth += 1
        elif letter == ">" and head[at - 1] != "-":
            depth -= 1
        elif letter == "(" and depth == 0:
            found = re.search(r"((?:\w+::)*)(~?\w+) ?$", head[:at])
            if not found or found.group(2) in ("requires", "decltype", "noexcept", "explicit", "alignas"):
                continue
            return None if found.group(1) else ("function", found.group(2))
        elif letter in "={" and depth == 0:
            head = head[:at]
            break
    found = re.search(r"(~?\w+)(?: ?\[[^\]]*\])?(?: ?<[^<>]*>)? ?$", head)
    return ("variable", found.group(1)) if found else None


def parse(source, members=False, access="public", hidden_scopes=HIDDEN):
    """The declarations of a header, or of a class's body."""
    found, scopes = [], [] if not members else ["pumice"]
    doc, parts, stream = [], [], list(tokens(source))
    at, grouped = 0, False

    def hidden():
        return not scopes or scopes[0] != "pumice" or any(s in hidden_scopes for s in scopes) or access != "public"

    def finish(body=""):
        nonlocal doc, parts, grouped
        text = collapse(parts)
        if text and not hidden() and not text.startswith("PUMICE_BODY"):
            got = name_of(text)
            if got:
                kind, name = got
                inner = []
                if kind == "class" and body:
                    inner = parse(body, True, "private" if re.match(r"class\b", after_template(text)) else "public")
                if kind == "enum":
                    inner = re.sub(r"\s+", " ", re.sub(r"//[^\n]*", "", body)).strip()
                    inner = [value.strip() for value in inner.split(",") if value.strip()]
                if kind == "enum" or body is not None:
                    found.append(Declaration(name, kind, text, "\n".join(doc), "::".join(scopes[1:]), inner,
                                             "deprecated" in text, grouped))
                    if kind == "variable" and re.search(r"=.*, \w+ = ", text):
                        found.extend(Declaration(more, kind, text, "\n".join(doc), "::".join(scopes[1:]))
                                     for more in re.findall(r", (\w+) = ", text))
        doc, parts, grouped = [], [], True

    while at < len(stream):
        kind, text = stream[at]
        at += 1
        if kind == "doc":
            if not parts:
                doc.append(text[3:].strip())
                grouped = False
            continue
        if kind == "comment":
            if not parts and "\n" not in text:
                pass
            continue
        if kind == "space":
            if parts:
                parts.append(" ")
            elif text.count("\n") > 1:
                grouped = False
                if doc and not members:
                    doc = []
            continue
        if members and kind == "word" and text in ("public", "private", "protected") and not parts and \
                stream[at][1] == ":":
            access, at = text, at + 1
            continue
        if kind == "word" and text == "namespace" and (not parts or collapse(parts) == "inline"):
            name = ""
            while stream[at][1] not in "{;=":
                name += stream[at][1]
                at += 1
            if stream[at][1] == "{":
                inline = bool(parts)
                scopes.extend([""] if inline else [name.strip()])
            else:
                while stream[at][1] != ";":
                    at += 1
            at += 1
            parts, doc = [], []
            continue
        if text == "}" and kind == "mark_":        # of a namespace; a macro's rows may stand before it
            scopes.pop()
            parts, doc = [], []
            continue
        if text == ";" and kind == "mark_":
            finish()
            continue
        if text in "([" and kind == "mark_":
            depth = 1
            parts.append(text)
            while depth:
                kind, text = stream[at]
                depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(text, 0) if kind == "mark_" else 0
                parts.append(" " if kind in ("space", "comment", "doc") else text)
                at += 1
            continue
        if text == "{" and kind == "mark_":
            begin, depth = at, 1
            while depth:
                kind, text = stream[at]
                depth += {"{": 1, "}": -1}.get(text, 0) if kind == "mark_" else 0
                at += 1
            body = "".join(text if kind != "doc" else text for kind, text in stream[begin:at - 1])
            # `= requires { ... }` and initialisers go on; a function's or a class's body ends what it belongs to
            head = collapse(parts)
            got = name_of(head)
            goes_on = (got and got[0] in ("class", "enum", "variable")) or head.startswith("concept") or " concept " in head or \
                re.search(r"(=|=> ?|requires|return)$", head)
            if re.search(r"\) : ", head) and not goes_on:      # a constructor's list: the brace may be a member's
                following = next((t for k, t in stream[at:] if k not in ("space", "comment")), "")
                if following in ",{" and following:
                    parts.append("{}")
                    continue
                parts = [re.sub(r"\) : .*$", ")", head)]
            if got and got[0] in ("class", "enum"):
                following = next((t for k, t in stream[at:] if k not in ("space", "comment")), "")
                if following == ";":
                    finish(body)
                    while stream[at][1] != ";":
                        at += 1
                    at += 1
                    continue
            if got and got[0] == "function" and ANSWER.fullmatch(body):
                doc, parts = [], []
                continue
            if goes_on:
                parts.append("{" + re.sub(r"\s+", " ", body) + "}")
                continue
            finish()
            continue
        parts.append(text)
    for one in found:
        one.scope = one.scope.replace("::::", "::").strip(":")
    return found
