# SPDX-License-Identifier: MIT
"""Shows tenon's objects in lldb, as tenon_gdb.py, which lies beside it, shows them in gdb. In lldb,
or in ~/.lldbinit:

    command script import /path/to/tenon_lldb.py

A tensor is a line, its summary, and opens to its dtype, sizes, strides, device and elements:

    (TensorPtr) image = std::unique_ptr to Float {2, 3} at 0x5581... = {{1, 2, 3}, {4, 5, 6}}

`settings set target.max-children-count N` limits the elements. Nothing of the process is called.
docs/debugging.md says more.
"""

import os
import re
import sys
import types

import lldb

# tenon_gdb.py's printers read objects through gdb's Value and Type. Those below offer the part that
# it uses over lldb's, so that both debuggers show the same.


class MemoryFault(RuntimeError):
    pass


class Session:
    target = None  # of the value that is shown


class Field:
    def __init__(self, member, is_base_class=False):
        self.name = member.GetName() or ""
        self.type = Type(member.GetType())
        self.bitpos, self.is_bitfield = member.GetOffsetInBits(), member.IsBitfield()
        self.is_base_class = is_base_class


class Enumerator:
    def __init__(self, member):
        self.name, self.enumval = member.GetName(), member.GetValueAsSigned()


CODES = {lldb.eTypeClassPointer: "pointer", lldb.eTypeClassReference: "reference",
         lldb.eTypeClassArray: "array", lldb.eTypeClassEnumeration: "enum",
         lldb.eTypeClassStruct: "struct", lldb.eTypeClassClass: "struct",
         lldb.eTypeClassUnion: "union"}
FLOATS = (lldb.eBasicTypeFloat, lldb.eBasicTypeDouble, lldb.eBasicTypeLongDouble)
UNSIGNED = {lldb.eBasicTypeBool, lldb.eBasicTypeUnsignedChar, lldb.eBasicTypeUnsignedShort,
            lldb.eBasicTypeUnsignedInt, lldb.eBasicTypeUnsignedLong,
            lldb.eBasicTypeUnsignedLongLong}
BASIC = {"char": lldb.eBasicTypeChar, "unsigned char": lldb.eBasicTypeUnsignedChar, "signed char": lldb.eBasicTypeSignedChar,
         "short": lldb.eBasicTypeShort, "int": lldb.eBasicTypeInt, "long": lldb.eBasicTypeLong,
         "long long": lldb.eBasicTypeLongLong, "float": lldb.eBasicTypeFloat,
         "double": lldb.eBasicTypeDouble, "bool": lldb.eBasicTypeBool,
         "unsigned short": lldb.eBasicTypeUnsignedShort,
         "unsigned int": lldb.eBasicTypeUnsignedInt,
         "unsigned long": lldb.eBasicTypeUnsignedLong,
         "unsigned long long": lldb.eBasicTypeUnsignedLongLong}


class Type:
    """The part of gdb.Type that tenon_gdb.py uses."""

    def __init__(self, shown, length=None):
        self.shown, self.length = shown, length  # `length` is an array's

    def __str__(self):
        return self.shown.GetName()

    def strip_typedefs(self):
        return self if self.length is not None else Type(self.shown.GetCanonicalType())

    def unqualified(self):
        return Type(self.shown.GetUnqualifiedType())

    @property
    def code(self):
        if self.length is not None:
            return "array"
        kind = CODES.get(self.shown.GetTypeClass())
        if kind == "reference" and self.name.endswith("&&"):
            return "rvalue"
        return kind or ("float" if self.shown.GetBasicType() in FLOATS else
                        "bool" if self.shown.GetBasicType() == lldb.eBasicTypeBool else "int")

    @property
    def name(self):
        return self.shown.GetName()

    @property
    def tag(self):
        return self.name if self.code in ("struct", "union", "enum") else None

    @property
    def sizeof(self):
        return self.shown.GetByteSize() * (1 if self.length is None else self.length)

    def target(self):
        if self.length is not None:
            return Type(self.shown)
        return Type({"pointer": self.shown.GetPointeeType, "array": self.shown.GetArrayElementType}
                    .get(self.code, self.shown.GetDereferencedType)())

    def range(self):
        length = self.sizeof // self.target().sizeof if self.length is None else self.length
        return 0, length - 1

    def array(self, last):
        return Type(self.lldb_type(), last + 1)

    def lldb_type(self):
        return self.shown if self.length is None else self.shown.GetArrayType(self.length)

    def pointer(self):
        return Type(self.lldb_type().GetPointerType())

    def fields(self):
        shown = self.shown
        if self.code == "enum":
            members = shown.GetEnumMembers()
            return [Enumerator(members.GetTypeEnumMemberAtIndex(i))
                    for i in range(members.GetSize())]
        return ([Field(shown.GetDirectBaseClassAtIndex(i), True)
                 for i in range(shown.GetNumberOfDirectBaseClasses())] +
                [Field(shown.GetFieldAtIndex(i)) for i in range(shown.GetNumberOfFields())])


class Value:
    """The part of gdb.Value that tenon_gdb.py uses. Arrays are given an address and a Type."""

    def __init__(self, shown, kind=None, where=None):
        if isinstance(shown, int):  # an address
            kind = kind or Type(Session.target.GetBasicType(lldb.eBasicTypeVoid)).pointer()
            size = Session.target.GetAddressByteSize()
            data = lldb.SBData.CreateDataFromUInt64Array(
                Session.target.GetByteOrder(), size, [shown % (1 << 8 * size)])
            shown = Session.target.CreateValueFromData("pointer", data, kind.lldb_type())
        self.shown = shown.GetNonSyntheticValue().GetStaticValue()
        self.shown.SetPreferSyntheticValue(False)
        self.type = kind or Type(self.shown.GetType())
        self.where = self.shown.GetLoadAddress() if where is None else where

    def position(self):
        if self.where == lldb.LLDB_INVALID_ADDRESS:
            raise RuntimeError("value has been optimized out")
        return self.where

    @property
    def address(self):
        return Value(self.position(), self.type.pointer())

    @property
    def dynamic_type(self):
        return Type(self.shown.GetDynamicValue(lldb.eDynamicDontRunTarget).GetType())

    def fetch_lazy(self):
        error = lldb.SBError()
        if self.where != lldb.LLDB_INVALID_ADDRESS:
            Session.target.GetProcess().ReadMemory(self.where, max(self.type.sizeof, 1), error)
        if error.Fail():
            raise MemoryFault("Cannot access memory at address 0x%x" % self.where)

    def __int__(self):
        error = lldb.SBError()
        kind = self.type.strip_typedefs()
        is_unsigned = kind.code == "pointer" or kind.shown.GetBasicType() in UNSIGNED
        read = self.shown.GetValueAsUnsigned if is_unsigned else self.shown.GetValueAsSigned
        number = read(error)
        if error.Fail() or not self.shown.IsValid():
            self.fetch_lazy()
            raise RuntimeError(error.GetCString())
        return number

    __index__ = __int__

    def __bool__(self):
        return int(self) != 0

    def __add__(self, count):
        return Value(int(self) + count * self.type.strip_typedefs().target().sizeof, self.type)

    def __getitem__(self, key):
        kind = self.type.strip_typedefs()
        if isinstance(key, Field):
            return self.part(key.bitpos // 8, key.type)
        if isinstance(key, int):
            target = kind.target()
            if kind.code == "pointer":
                return at(int(self) + key * target.sizeof, target)
            return self.part(key * target.sizeof, target)
        found = member_of(kind, key)
        if found is not None:
            return self.part(*found)
        child = self.shown.GetChildMemberWithName(key)
        if not child.IsValid():
            raise LookupError(key)
        return Value(child)

    def part(self, offset, kind):
        """What lies in an object. lldb's own function confuses parts of one offset."""
        if self.where != lldb.LLDB_INVALID_ADDRESS:
            return at(self.where + offset, kind)
        return Value(self.shown.CreateChildAtOffset("part", offset, kind.lldb_type()), kind)

    def dereference(self):
        return at(int(self), self.type.strip_typedefs().target())

    def referenced_value(self):
        return at(self.shown.GetValueAsUnsigned(), self.type.strip_typedefs().target())

    def cast(self, kind):
        if kind.strip_typedefs().code == "pointer":
            return Value(int(self), kind)
        return at(self.position(), kind)

    def string(self, errors="strict"):
        error = lldb.SBError()
        text = b""
        while len(text) < 4096:
            where = int(self) + len(text)
            # Not beyond a page, which may be the last.
            part = Session.target.GetProcess().ReadMemory(where, 256 - where % 256, error)
            if error.Fail():
                raise MemoryFault("Cannot access memory at address 0x%x" % where)
            text += part
            if b"\0" in part:
                break
        return text.split(b"\0")[0].decode("utf-8", errors)

    def format_string(self, **_):
        kind = self.type.strip_typedefs()
        if kind.code == "pointer" and kind.target().unqualified().sizeof == 1:
            return '0x%x "%s"' % (int(self), self.string("replace"))
        return text_of(self)


def member_of(kind, name):
    """The offset and the type of a member, in a base or an anonymous union as well; None without
    one and for bit-fields. lldb's own function does not look into an anonymous union of a base, and
    this one does not see the members of a dynamic type."""
    for field in kind.strip_typedefs().fields():
        if field.name == name and not field.is_bitfield:
            found = field.type
            if kind.code == "union" and found.name.endswith("[]"):
                # lldb 17 to 21 lose the length of a union's arrays in programs that GCC compiled.
                found = found.target().array(kind.sizeof // found.target().sizeof - 1)
            return field.bitpos // 8, found
        if field.is_base_class or not field.name:
            found = member_of(field.type, name)
            if found is not None:
                return field.bitpos // 8 + found[0], found[1]
    return None


def at(address, kind):
    """The object of a type at an address."""
    address %= 1 << 8 * Session.target.GetAddressByteSize()
    shown = Session.target.CreateValueFromAddress("at", lldb.SBAddress(address, Session.target),
                                                  kind.lldb_type())
    return Value(shown, kind, address)


def basic_type(kind):
    while kind.strip_typedefs().code in ("reference", "rvalue"):
        kind = kind.strip_typedefs().target()
    return kind.unqualified().strip_typedefs().unqualified()


class Collection:
    """gdb.printing.RegexpCollectionPrettyPrinter"""

    def __init__(self, _name):
        self.printers = []

    def add_printer(self, _name, pattern, make):
        self.printers.append((re.compile(pattern), make))

    def __call__(self, value):
        name = basic_type(value.type).tag
        return next((make(value) for pattern, make in self.printers
                     if name and pattern.match(name)), None)


def lookup_type(name):
    if name in BASIC:
        return Type(Session.target.GetBasicType(BASIC[name]))
    return Type(Session.target.FindFirstType(name))


def max_children(_name):
    return int(Session.target.GetDebugger().GetInternalVariableValue(
        "target.max-children-count", Session.target.GetDebugger().GetInstanceName())
        .GetStringAtIndex(0))


def load_printers():
    """tenon_gdb.py with what is above in the place of gdb."""
    def nothing(*_, **__):
        return None

    gdb = types.ModuleType("gdb")
    parts = {name: types.ModuleType("gdb." + name) for name in ("printing", "types", "xmethod")}
    vars(gdb).update(
        parts, Value=Value, error=RuntimeError, MemoryError=MemoryFault, lookup_type=lookup_type,
        parameter=max_children, objfiles=lambda: [],
        events=types.SimpleNamespace(new_objfile=types.SimpleNamespace(connect=nothing)),
        TYPE_CODE_PTR="pointer", TYPE_CODE_REF="reference", TYPE_CODE_RVALUE_REF="rvalue",
        TYPE_CODE_ARRAY="array", TYPE_CODE_STRUCT="struct", TYPE_CODE_INT="int",
        TYPE_CODE_CHAR="char")
    parts["printing"].RegexpCollectionPrettyPrinter = Collection
    parts["types"].get_basic_type = basic_type
    parts["types"].has_field = lambda kind, name: any(f.name == name for f in kind.fields())
    parts["xmethod"].SimpleXMethodMatcher = parts["xmethod"].register_xmethod_matcher = nothing
    replaced = {"gdb": gdb, **{"gdb." + name: part for name, part in parts.items()}}
    sys.modules.update(replaced)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    try:
        import tenon_gdb
    finally:
        sys.path.pop(0)
        for name in replaced:
            del sys.modules[name]
    return tenon_gdb


PRINTERS = load_printers()
NAMES = (r"Tensor|TensorImpl|TensorArg|TensorView|ViewWithLists|Blob|EValue|Span<.*>|Result<.*>|"
         r"Dims|DimOrder|detail_values::(InlineArray<.*>|StridesArg|DimOrderArg)|detail::Layout|Scalar|complex<.*>|Device|"
         r"Deleter|detail::SmallFloat<.*>|"
         r"[A-Za-z_]*Backend")
# In the syntax of lldb's expressions, which has no \d and no (?:).
TYPES = (r"^(const )?tenon::(v[0-9][A-Za-z0-9_]*::)?(own::)?(%s)$" % NAMES)
SMART = (r"^(const )?std::(__[A-Za-z0-9_]+::)*(unique_ptr|shared_ptr)<(const )?"
         r"tenon::(v[0-9][A-Za-z0-9_]*::)?(own::)?Tensor(Impl)?[ ,>].*$")


def text_of(value):
    """A value as one line."""
    printer = PRINTERS.PRINTERS(value)
    if printer is None:
        return value.shown.GetValue() or value.shown.GetSummary() or ""
    is_array = getattr(printer, "display_hint", lambda: "")() == "array"
    text, items, limit = printer.to_string(), [], PRINTERS.element_limit()
    for name, item in getattr(printer, "children", lambda: ())():
        if len(items) == limit:
            items[-1] += "..."
            break
        shown = item if isinstance(item, str) else PRINTERS.text_of(item)
        items.append(shown if is_array else "%s = %s" % (name, shown))
    return text + (" = " + PRINTERS.braces(items) if items else "")


def summary(shown, _=None):
    Session.target = shown.GetTarget()
    return text_of(Value(shown))


class Children:
    """What a tensor, a list or a Result opens to."""

    def __init__(self, shown, _):
        self.shown = shown
        self.update()

    def update(self):
        self.items = None  # as (name, value), once they are asked for

    def all(self):
        if self.items is None:
            Session.target = self.shown.GetTarget()
            printer = PRINTERS.PRINTERS(Value(self.shown))
            self.items = list(getattr(printer, "children", lambda: ())())
        return self.items

    def has_children(self):
        return True

    def num_children(self):
        return len(self.all())

    def get_child_index(self, name):
        if name == "$$dereference$$":  # of a smart pointer
            return len(self.all())
        return next((i for i, (known, _) in enumerate(self.all()) if known == name), -1)

    def get_child_at_index(self, index):
        items = self.all()
        Session.target = self.shown.GetTarget()
        if index == len(items):
            pointer = PRINTERS.pointer_in(Value(self.shown))
            return named("$$dereference$$", pointer.dereference())
        return named(*items[index]) if 0 <= index < len(items) else None


def named(name, item):
    if isinstance(item, Value):
        if item.where == lldb.LLDB_INVALID_ADDRESS:
            return item.shown.Clone(name)
        where = lldb.SBAddress(item.where, Session.target)
        return Session.target.CreateValueFromAddress(name, where, item.type.lldb_type())
    order, size = Session.target.GetByteOrder(), Session.target.GetAddressByteSize()
    if isinstance(item, str):
        kind = Session.target.GetBasicType(lldb.eBasicTypeChar).GetArrayType(len(item) + 1)
        return Session.target.CreateValueFromData(
            name, lldb.SBData.CreateDataFromCString(order, size, item), kind)
    if isinstance(item, float):
        data = lldb.SBData.CreateDataFromDoubleArray(order, size, [item])
        kind = lldb.eBasicTypeDouble
    else:
        data = lldb.SBData.CreateDataFromSInt64Array(order, size, [item])
        kind = lldb.eBasicTypeLongLong
    return Session.target.CreateValueFromData(name, data, Session.target.GetBasicType(kind))


def __lldb_init_module(debugger, _):
    for pattern in (TYPES, SMART):
        debugger.HandleCommand("type summary add -v -w tenon -F %s.summary -x '%s'"
                               % (__name__, pattern))
    for pattern in (TYPES.replace(NAMES, "Tensor|TensorImpl|TensorArg|TensorView|Blob|EValue|"
                                         "Span<.*>|Result<.*>"), SMART):
        debugger.HandleCommand("type synthetic add -w tenon -l %s.Children -x '%s'"
                               % (__name__, pattern))
    debugger.HandleCommand("type category enable tenon")
