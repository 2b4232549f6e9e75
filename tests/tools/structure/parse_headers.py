# SPDX-License-Identifier: MIT
"""The declarations in a header, with the namespaces and classes around them: as much of C++ as these
headers need."""

import re

TOKEN = re.compile(r"""R"\(.*?\)"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|//[^\n]*|/\*.*?\*/"""
                   r"""|[0-9](?:'?[0-9A-Za-z_.])*|[A-Za-z_]\w*|::|->|\S""", re.DOTALL)
UNSEEN = re.compile(r"^[ \t]*#[ \t]*if 0\b.*?^[ \t]*#[ \t]*(?:else|elif|endif)\b", re.MULTILINE | re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
MACRO = re.compile(r"TENON_\w+$")
WORD = re.compile(r"[A-Za-z_]\w*$")


def tokens_of(text):
    """The code's tokens, without comments and directives: all branches of an #if but `#if 0`."""
    found = TOKEN.findall(DIRECTIVE.sub("", UNSEEN.sub("", text)))
    return [token for token in found if not token.startswith(("//", "/*"))
            and not re.match(r"TENON_(BEGIN|END)_\w+$", token)]


def end_of(tokens, i):
    """The index behind the bracket that closes the one at i."""
    depth = 0
    while True:
        depth += (tokens[i] in "([{") - (tokens[i] in ")]}")
        i += 1
        if depth == 0:
            return i


def without_brackets(tokens):
    """The tokens outside of all brackets."""
    kept, i = [], 0
    while i < len(tokens):
        if tokens[i] in "([{":
            i = end_of(tokens, i)
        else:
            kept.append(tokens[i])
            i += 1
    return kept


def declarator(head):
    """The head of a declaration without template parameters, attributes and macros."""
    while head[:1] == ["template"]:
        depth, i = 0, 1
        while True:
            if head[i] in "([{":
                i = end_of(head, i)
                continue
            depth += (head[i] == "<") - (head[i] == ">")
            i += 1
            if depth == 0:
                break
        head = head[i:]
    kept, i = [], 0
    while i < len(head):
        called = i + 1 < len(head) and head[i + 1] == "("
        if head[i:i + 2] == ["[", "["]:
            i = end_of(head, i)
        elif head[i] in ("alignas", "__attribute__") or (MACRO.match(head[i]) and called):
            i = end_of(head, i + 1)
        elif MACRO.match(head[i]):
            i += 1
        else:
            kept.append(head[i])
            i += 1
    if kept[:1] == ["friend"] and kept[1:2] not in (["class"], ["struct"]):
        kept = kept[1:]  # a function that is defined there
    return kept


def scope_of(head):
    """(name, access of its members) for a namespace or a class; None for anything else."""
    head = declarator(head)
    if head[:2] == ["inline", "namespace"]:
        head = head[1:]
    if head[:1] == ["namespace"]:
        return "".join(head[1:]), "public"
    if head[:1] == ["extern"] and "(" not in head:
        return "detail", "public"  # somebody else's functions
    if head[:1] and head[0] in ("class", "struct", "union") and "(" not in head:
        names = []
        for token in without_brackets(head[1:]):
            if token in (":", "final", "<"):
                break
            names.append(token)
        return "".join(names), "private" if head[0] == "class" else "public"
    return None


def function_name(head):
    """The name of the function that is declared, "" for what is not to be listed; None if it is no
    function."""
    head = declarator(head)
    if head[:1] == ["extern"]:
        return ""  # somebody else's
    if not head or head[0] in ("using", "typedef", "static_assert", "enum"):
        return None
    if "operator" in head:
        i = head.index("operator") + 1
        if head[i - 2:i - 1] == ["::"]:
            return ""  # the definition of what a class declares
        name = []
        while i < len(head) and (head[i] != "(" or not name):
            name.append(head[i])
            i += 1
        return "operator" + ("_" if WORD.match(name[0]) else "") + "".join(name)
    if "(" not in head:
        return None
    i = head.index("(") - 1
    if i < 0 or "=" in head[:i] or not WORD.match(head[i]) or head[i] in ("decltype", "noexcept"):
        return None
    if head[i + 2:i + 3] == ["*"]:
        return None  # a pointer to a function
    is_destructor = head[i - 1:i] == ["~"]
    if head[i - 1 - is_destructor:i - is_destructor] == ["::"]:
        return ""  # the definition of what a class declares
    return "~" * is_destructor + head[i]


def declarations(tokens):
    """Yields (scopes, head) of each declaration; a scope is (name, access)."""
    scopes, i, start = [], 0, 0
    while i < len(tokens):
        token = tokens[i]
        if i == start and MACRO.match(token) and tokens[i + 1:i + 2] == ["("] and (
                all(scope[0] == "detail" or not scope[0] for scope in scopes) or not scopes):
            end = end_of(tokens, i + 1)
            yield list(scopes), tokens[i:end]
            i = start = end + (tokens[end:end + 1] == [";"])
        elif i == start and token in ("public", "private", "protected"):
            scopes[-1] = (scopes[-1][0], token)
            i = start = i + 2
        elif token == "}":
            scopes.pop()
            i += 1
            start = i + (tokens[i:i + 1] == [";"])
            i = start
        elif token == ";":
            if i > start:
                yield list(scopes), tokens[start:i]
            i = start = i + 1
        elif token in "([":
            i = end_of(tokens, i)
        elif token == "{":
            head = tokens[start:i]
            scope = scope_of(head)
            if scope is not None:
                scopes.append(scope)
                i = start = i + 1
                continue
            i = end_of(tokens, i)
            if function_name(head) is None:
                continue  # an initialiser, or an enumeration: up to the semicolon
            if ":" in without_brackets(head) and WORD.match(head[-1]) and head[-1] not in (
                    "noexcept", "const", "override"):
                continue  # of a member, before a constructor's body
            yield list(scopes), head
            i = start = i + (tokens[i:i + 1] == [";"])
        else:
            i += 1
