# SPDX-License-Identifier: MIT
"""Shows tenon's objects in gdb. In gdb, or in ~/.gdbinit:

    source /path/to/tenon_gdb.py

A tensor is its dtype and sizes, where it is, what is unusual about it, and its first elements, as
many as `set print elements` allows:

    Float {2, 3} at 0x5581... = {{1, 2, 3}, {4, 5, 6}}

So it is shown through references and pointers, smart ones too. A backend is what it has handed out.

`print/r` shows the members instead. Everything is read from memory, by the members' names; no
function of the process is ever called, so that it works on core dumps. Memory that cannot be read
and objects that cannot be tensors are described, never an error. docs/debugging.md says more.
"""

import math
import re

import gdb
import gdb.printing
import gdb.types
import gdb.xmethod

MAX_DIMS = 64  # kMaxDims: more are the sign of an object that is none

# How many elements a variable window is given, which may ask for all there are; more if
# `set print elements` is.
WINDOW_LIMIT = 1000

# By DeviceType's numbers, which are DLPack's.
DEVICES = {
    1: "cpu", 2: "cuda", 3: "cuda_host", 4: "opencl", 7: "vulkan", 8: "metal", 9: "vpi",
    10: "rocm", 11: "rocm_host", 12: "ext_dev", 13: "cuda_managed", 14: "oneapi", 15: "webgpu",
    16: "hexagon", 17: "maia", 18: "trn", 126: "expr",
    127: "meta"}
# Device::is_host_accessible()
HOST_DEVICES = {"cpu", "cuda_host", "rocm_host", "cuda_managed"}


class Instead(Exception):
    """The text to show where there is no tensor to be shown."""


def braces(items):
    return "{" + ", ".join(str(item) for item in items) + "}"


def element_limit():
    """How many elements `print` may show, `print -elements N` included; math.inf for all."""
    if hasattr(gdb, "print_options"):  # gdb 13
        return gdb.print_options().get("max_elements") or math.inf
    return gdb.parameter("print elements") or math.inf


def enumerator(value):
    """An enumerator's own name, "Float"; a number that is none of them as "ScalarType(99)"."""
    kind = value.type.strip_typedefs()
    for field in kind.fields():
        if field.enumval == int(value):
            return field.name.split("::")[-1]
    return "%s(%d)" % (kind.name.split("::")[-1], int(value))


def layout_list(layout, name):
    """A Layout's "sizes", "strides" or "dim_order" as an array of C. Raises Instead for more
    dimensions than there can be."""
    rank = int(layout["rank_"])
    if rank > MAX_DIMS:
        raise Instead("<corrupt: %d dimensions>" % rank)
    first = layout["order_"][0].address if name == "dim_order" else layout["lists_"][name][0].address
    if rank > layout["order_"].type.range()[1] + 1:
        sizes = layout["block_"]
        first = {"sizes": sizes, "strides": sizes + rank,
                 "dim_order": (sizes + 2 * rank).cast(first.type)}[name]
    return first.dereference().cast(first.type.target().array(rank - 1))


def layout_text(layout):
    return ", ".join("%s %s" % (name, braces(inline_array(layout_list(layout, name))))
                     for name in ("sizes", "strides", "dim_order"))


def inline_array(value):
    """The values of a Dims, a DimOrder, a Span or an array. Raises Instead for more of them than
    there can be."""
    if value.type.strip_typedefs().code == gdb.TYPE_CODE_ARRAY:
        return [int(value[i]) for i in range(value.type.range()[1] + 1)]
    size = int(value["size_"])
    if size > MAX_DIMS:
        raise Instead("<corrupt: %d dimensions>" % size)
    first = value["data_"]
    return [int(first[i]) for i in range(size)]


def device_text(value):
    number = int(value["type_"])
    name = DEVICES.get(number, "DeviceType(%d)" % number)
    return name if name == "cpu" else "%s:%d" % (name, int(value["index_"]))


def member_in(value, is_it):
    """The first member of an object for whose gdb.Field `is_it` holds, those of its bases and of
    members included: so the standard libraries need not be told apart. None without one."""
    for field in value.type.strip_typedefs().fields():
        if not hasattr(field, "bitpos"):
            continue  # static
        if is_it(field):
            return value[field]
        if field.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT:
            found = member_in(value[field], is_it)
            if found is not None:
                return found
    return None


def pointer_in(value):
    """What a smart pointer points to."""
    return member_in(value, lambda f: f.type.strip_typedefs().code == gdb.TYPE_CODE_PTR)


def count_in(value):
    """The number in an AtomicCount."""
    number = member_in(value, lambda f: f.type.strip_typedefs().code == gdb.TYPE_CODE_INT)
    return int(number)


def use_count(shared):
    """A std::shared_ptr's count, None where it is not known."""
    # Not simply through the pointer's target: gdb would look for its dynamic type, which may be
    # missing in the debug information, and warn.
    for control, member, unit in (("_M_refcount", "_M_use_count", 0),  # libstdc++
                                  ("__cntrl_", "__shared_owners_", 1)):  # libc++ counts from 0
        try:
            pointer = shared[control]
            if pointer.type.strip_typedefs().code != gdb.TYPE_CODE_PTR:
                pointer = pointer_in(pointer)
            if int(pointer) == 0:
                return None
            offset, kind = member_of(pointer.type.strip_typedefs().target(), member)
            return int(at(int(pointer) + offset, kind)) + unit
        except (gdb.error, LookupError, AttributeError):
            continue  # another library's, or not described
    return None


def member_of(kind, name):
    """The offset in bytes and the type of a class's or its bases' member."""
    for field in kind.strip_typedefs().fields():
        if field.name == name:
            return field.bitpos // 8, field.type
        if field.is_base_class:
            try:
                offset, found = member_of(field.type, name)
                return field.bitpos // 8 + offset, found
            except LookupError:
                pass
    raise LookupError(name)


def at(address, kind):
    """The object of a type at an address."""
    pointer = kind.pointer()
    bits = 8 * pointer.sizeof
    return gdb.Value(address % (1 << bits)).cast(pointer).dereference()


def is_byte(kind):
    """Whether it is an integer that gdb would show as a character."""
    kind = kind.strip_typedefs()
    return kind.sizeof == 1 and kind.code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR)


def text_of(value):
    """An element as text: gdb's own, but for the types that gdb cannot show."""
    if isinstance(value, gdb.Value):
        return value.format_string()
    return "%.17g" % value if isinstance(value, float) else str(value)


def complex_text(real, imag):
    imag = text_of(imag)
    sign = "-" if imag.startswith("-") else "+"
    return "%s %s %si" % (text_of(real), sign, imag.lstrip("-"))


class SmallFloatFormat:
    """An 8- or 16-bit floating format: detail::SmallFloatFormat."""

    def __init__(self, exponent_bits, mantissa_bits, bias, specials):
        self.exponent_bits = exponent_bits
        self.mantissa_bits = mantissa_bits
        self.bias = bias
        self.specials = specials

    def decode(self, bits):
        """The number, or "nan": gdb would add a payload that is not there."""
        mantissa = bits & ((1 << self.mantissa_bits) - 1)
        exponent = (bits >> self.mantissa_bits) & ((1 << self.exponent_bits) - 1)
        sign_bit = 1 << (self.exponent_bits + self.mantissa_bits)
        sign = -1.0 if bits & sign_bit else 1.0
        if self.specials == "Ieee":
            if exponent == (1 << self.exponent_bits) - 1:
                return "nan" if mantissa != 0 else "-inf" if sign < 0 else "inf"
        elif (bits == sign_bit if self.specials == "UnsignedZero"
              else bits & (sign_bit - 1) == sign_bit - 1):
            return "nan"
        if exponent == 0:
            return sign * math.ldexp(mantissa, 1 - self.bias - self.mantissa_bits)
        return sign * math.ldexp(mantissa + (1 << self.mantissa_bits),
                                 exponent - self.bias - self.mantissa_bits)


SMALL_FLOATS = {
    "Half": SmallFloatFormat(5, 10, 15, "Ieee"),
    "BFloat16": SmallFloatFormat(8, 7, 127, "Ieee"),
    "Float8_e5m2": SmallFloatFormat(5, 2, 15, "Ieee"),
    "Float8_e4m3fn": SmallFloatFormat(4, 3, 7, "FiniteOnly"),
    "Float8_e5m2fnuz": SmallFloatFormat(5, 2, 16, "UnsignedZero"),
    "Float8_e4m3fnuz": SmallFloatFormat(4, 3, 8, "UnsignedZero"),
}

COMPLEX = {"ComplexHalf": "Half", "ComplexFloat": "Float", "ComplexDouble": "Double"}

# The C type of an element or its bits; the first of several that has the size.
C_TYPES = {
    "Byte": (1, "unsigned char"), "Char": (1, "signed char"), "Short": (2, "short"),
    "Int": (4, "int"), "Long": (8, "long", "long long"), "Float": (4, "float"),
    "Double": (8, "double"), "Bool": (1, "bool"), "UInt16": (2, "unsigned short"),
    "UInt32": (4, "unsigned int"), "UInt64": (8, "unsigned long", "unsigned long long"),
    "Half": (2, "unsigned short"), "BFloat16": (2, "unsigned short"),
    "Float8_e5m2": (1, "unsigned char"), "Float8_e4m3fn": (1, "unsigned char"),
    "Float8_e5m2fnuz": (1, "unsigned char"), "Float8_e4m3fnuz": (1, "unsigned char"),
}


class ElementType:
    """Reads elements of a dtype."""

    def __init__(self, name):
        """Raises LookupError for a name that is no dtype."""
        self.part = ElementType(COMPLEX[name]) if name in COMPLEX else None
        if self.part:
            self.size = 2 * self.part.size
            return
        self.size, *c_names = C_TYPES[name]
        kinds = [gdb.lookup_type(c_name) for c_name in c_names]
        self.kind = next(kind for kind in kinds if kind.sizeof == self.size)
        self.format = SMALL_FLOATS.get(name)

    def is_c_number(self):
        """Whether gdb shows the elements rightly by itself."""
        return not self.part and not self.format and not is_byte(self.kind)

    def value(self, address):
        """What a variable window can show, for an element that is not complex."""
        if self.is_c_number():
            return at(address, self.kind)
        return float(self.read(address)) if self.format else self.read(address)

    def read(self, address):
        """A number, text, or a gdb.Value that has been read. Raises gdb.MemoryError."""
        if self.part:
            return complex_text(self.part.read(address), self.part.read(address + self.part.size))
        value = at(address, self.kind)
        value.fetch_lazy()
        if self.format:
            return self.format.decode(int(value))
        return int(value) if is_byte(self.kind) else value


class Description:
    """A shape of elements in memory: what tensors, views and blobs have in common."""

    def __init__(self, data, dtype, device, sizes, strides, notes=(), opaque=False):
        """`data` to `strides` are the members; `strides` may be None for dense ones. `notes` is
        what else to say. Raises Instead for what cannot be a shape."""
        self.members = [("[dtype]", dtype), ("[sizes]", sizes), ("[device]", device)]
        if strides is not None:
            self.members.insert(2, ("[strides]", strides))
        self.data = int(data)
        self.dtype = enumerator(dtype)
        self.device = device_text(device)
        self.sizes = inline_array(sizes)
        self.numel = math.prod(self.sizes)
        self.dense_strides = [math.prod(size or 1 for size in self.sizes[d + 1:])
                              for d in range(len(self.sizes))]
        self.strides = self.dense_strides if strides is None else inline_array(strides)
        if min(self.sizes, default=0) < 0 or len(self.strides) != len(self.sizes):
            raise Instead("<corrupt: sizes %s, strides %s>"
                          % (braces(self.sizes), braces(self.strides)))
        try:
            self.element = ElementType(self.dtype)
        except LookupError:
            self.element = None
        self.is_host = self.device.split(":")[0] in HOST_DEVICES and not opaque
        self.notes = list(notes)
        if self.device == "meta:0":
            self.notes.insert(0, "meta")
        elif self.data == 0 and self.numel != 0 and self.element:
            self.notes.insert(0, "placeholder")
        elif self.numel != 0 and not self.is_host:
            self.notes.insert(0, "not host memory")

    def is_dense(self, first):
        """Whether the elements within dimension `first` and those after it are row-major without
        gaps. As for is_contiguous(), the stride of a size-1 dimension means nothing."""
        return all(size == 1 or stride == dense for size, stride, dense in
                   list(zip(self.sizes, self.strides, self.dense_strides))[first:])

    def header(self):
        text = "%s %s" % (self.dtype, braces(self.sizes))
        if self.numel != 0 and not self.is_dense(0):
            text += " strides " + braces(self.strides)
        if self.data != 0:
            text += " at 0x%x" % self.data
        if self.device not in ("cpu", "meta:0"):
            text += " on " + self.device
        if self.notes:
            text += " (%s)" % ", ".join(self.notes)
        return text

    def has_elements(self):
        """Whether there are elements, in memory that gdb may read."""
        return self.data != 0 and self.numel != 0 and self.element is not None and self.is_host


def indices(sizes):
    """Yields the index tuples of a shape in order. itertools.product would hold all the ranges."""
    if not sizes:
        yield ()
        return
    for i in range(sizes[0]):
        for rest in indices(sizes[1:]):
            yield (i, *rest)


class Reader:
    """Reads a description's elements in order, up to gdb's limit or the first that is not there."""

    def __init__(self, shown):
        self.shown = shown
        self.left = element_limit()
        self.failed = False

    def element(self, address):
        self.left -= 1
        try:
            return self.shown.element.read(address)
        except gdb.error:
            self.failed = True
            return "<cannot read 0x%x>" % address

    def items(self, address, dim):
        """Yields one entry of dimension `dim` after the other: elements, or text for all that is
        in it."""
        size = self.shown.sizes[dim]
        step = self.shown.strides[dim] * self.shown.element.size
        innermost = dim + 1 == len(self.shown.sizes)
        for i in range(size):
            if innermost:
                item = self.element(address + i * step)
            else:
                item = braces(text_of(x) for x in self.items(address + i * step, dim + 1))
            if self.failed:
                yield item
                return
            if self.left <= 0 and i + 1 < size:
                if innermost and dim == 0:
                    yield item
                    yield "..."  # one more than gdb's limit, for which it shows dots of its own
                else:
                    yield text_of(item) + "..."
                return
            yield item

    def values(self):
        """Yields names and values that gdb can open and change: the entries of the outermost
        dimension as arrays where they are some, else elements."""
        shown, element = self.shown, self.shown.element
        limit = max(element_limit(), WINDOW_LIMIT)
        steps = [stride * element.size for stride in shown.strides]
        if shown.sizes and element.is_c_number() and shown.is_dense(1):
            row = element.kind
            for size in reversed(shown.sizes[1:]):
                row = row.array(size - 1)
            for i in range(int(min(shown.sizes[0], limit))):
                yield "[%d]" % i, at(shown.data + i * steps[0], row)
            return
        for count, index in enumerate(indices(shown.sizes)):
            if count >= limit:
                return
            address = shown.data + sum(i * step for i, step in zip(index, steps))
            name = "[%s]" % ", ".join(str(i) for i in index)
            if element.part:
                yield name + ".real", element.part.value(address)
                yield name + ".imag", element.part.value(address + element.part.size)
            else:
                yield name, element.value(address)


def cannot_read(error):
    """An exception in the user's words."""
    address = re.search("0x[0-9a-f]+", str(error))
    if isinstance(error, gdb.MemoryError) and address:
        return "<cannot read %s>" % address.group()
    if "optimized out" in str(error):
        return "<optimized out>"
    return "<cannot read: not an object of this version of tenon>"


class Printer:
    """The base of those below: text() may raise, to_string() does not."""

    prefix = ""  # how it was come by

    def __init__(self, value):
        self.value = value

    def to_string(self):
        try:
            return self.prefix + self.text()
        except Instead as text:
            return self.prefix + str(text)
        except Exception as error:  # whatever an object that is none may lead to
            return self.prefix + cannot_read(error)


class TextPrinter(Printer):
    """What a function, which may raise, says of the value."""

    def __init__(self, value, describe=str):
        super().__init__(value)
        self.text = lambda: describe(value)


class ArrayPrinter(Printer):
    """`size` elements from `first` on."""

    def __init__(self, name, first, size):
        super().__init__(first)
        self.name, self.first, self.size = name, first, size

    def text(self):
        return "%s of length %d" % (self.name, int(self.size))

    def children(self):
        # One more than gdb shows makes it add dots. Bounded here too, for a span that is garbage.
        try:
            for i in range(int(min(int(self.size), element_limit() + 1))):
                item = self.first[i]
                try:
                    item.fetch_lazy()
                except gdb.error:
                    yield "[%d]" % i, "<cannot read 0x%x>" % int(self.first + i)
                    return
                yield "[%d]" % i, int(item) if is_byte(item.type) else item
        except Exception:
            return  # to_string() has said why

    def display_hint(self):
        return "array"


class MemoryPrinter(Printer):
    """Shows what describe() returns, a Description: its header and the elements."""

    described = None
    hinted = False
    for_print = None  # whether the children are those of `print`; None while not known

    def description(self):
        if self.described is None:
            self.described = self.describe()
        return self.described

    def text(self):
        if self.for_print is None:
            self.for_print = self.hinted
        shown = self.description()
        text = shown.header()
        if shown.has_elements() and not shown.sizes:
            text += " = " + text_of(Reader(shown).element(shown.data))
        return text

    def children(self):
        # `print` puts the elements behind the text, and rows have to be text. The variable windows
        # of front ends (gdb/MI) want values that can be opened and changed. gdb does not say who
        # asks, but the order of its questions does: `print` begins with the hint, then comes the
        # text; a window begins with the children (gdb 13) or with the text (gdb 16).
        try:
            shown = self.description()
            if not self.for_print:
                yield from shown.members
                if shown.has_elements():
                    yield from Reader(shown).values()
            elif shown.has_elements() and shown.sizes:
                for i, item in enumerate(Reader(shown).items(shown.data, 0)):
                    yield "[%d]" % i, item
        except Exception:
            return  # to_string() has said why

    def display_hint(self):
        self.hinted = True
        return "array"


def describe_impl(impl, uses=None):
    """The Description of a TensorImpl. `uses` is its use count, if known."""
    try:
        fields = impl["fields_"]
        layout = fields["layout"]
        sizes = inline_array(layout_list(layout, "sizes"))
        numel = int(layout["numel"])
        if int(fields["deallocated"]):
            raise Instead("deallocated, was %s %s" % (enumerator(fields["type"]), braces(sizes)))
        ownership = enumerator(fields["ownership"])
        dynamism = enumerator(fields["dynamism"])
        notes = [ownership] if ownership != "Owned" else []
        # What creators make unless they are asked for something else.
        if dynamism != ("DYNAMIC_BOUND" if sizes else "STATIC"):
            notes.append(dynamism)
        if int(fields["readonly"]):
            notes.append("read-only")
        if int(fields["capacity"]) > numel:
            notes.append("room for %d" % int(fields["capacity"]))
        if uses is not None and uses > 1:
            notes.append("use_count %d" % uses)
        if gdb.types.has_field(fields.type, "borrows") and count_in(fields["borrows"]) != 0:
            notes.append("borrowed by %d" % count_in(fields["borrows"]))
        shown = Description(fields["data"], fields["type"], fields["device"],
                            layout_list(layout, "sizes"), layout_list(layout, "strides"), notes, bool(fields["opaque"]))
    except gdb.MemoryError:
        raise Instead("<cannot read the TensorImpl at 0x%x>" % int(impl.address)) from None
    if numel != shown.numel:
        raise Instead("<corrupt: sizes %s, numel %d>" % (braces(shown.sizes), numel))
    return shown


class TensorPrinter(MemoryPrinter):
    def describe(self):
        shared = self.value["impl_"]
        pointer = pointer_in(shared)
        if int(pointer) == 0:
            raise Instead("undefined")
        return describe_impl(pointer.dereference(), use_count(shared))


class TensorImplPrinter(MemoryPrinter):
    uses = None

    def describe(self):
        return describe_impl(self.value, self.uses)


class TensorViewPrinter(MemoryPrinter):
    def describe(self):
        view = self.value
        return Description(view["data"], view["type"], view["device"], view["sizes"],
                           view["strides"])


class BlobPrinter(MemoryPrinter):
    def describe(self):
        blob = self.value
        notes = ["read-only"] if int(blob["readonly"]) else []
        if int(pointer_in(blob["owner"])) == 0:
            notes.append("no owner")
        strides = blob["strides"]
        return Description(blob["data"], blob["dtype"], blob["device"], blob["sizes"],
                           strides if int(strides["size_"]) else None, notes)


def dims_text(value):
    error = enumerator(value["error_"])
    text = braces(inline_array(value))
    return text if error == "Ok" else "%s (%s)" % (text, error)


def scalar_text(value):
    kind = enumerator(value["kind_"])
    bits = int(value["bits_"])
    real, imag = value["real_"], value["imag_"]
    if kind == "Bool":
        return "Bool true" if bits else "Bool false"
    if kind == "Signed":
        return "Long %d" % (bits - (1 << 64) if bits >> 63 else bits)
    if kind == "Unsigned":
        return "%s %d" % ("UInt64" if bits >> 63 else "Long", bits)
    if kind == "Double":
        return "Double " + text_of(real)
    if kind == "Pair":
        return "ComplexDouble " + complex_text(real, imag)
    return "<corrupt: %s>" % kind


# The numbers of the template SmallFloatFormat tell the six formats apart. From the name, because
# not every compiler describes the arguments of a class that is only named.
SMALL_FLOAT_NUMBERS = re.compile(r"SmallFloatFormat<[^,]+, (\d+), (\d+), (\d+)\b")


def small_float(value):
    match = SMALL_FLOAT_NUMBERS.search(gdb.types.get_basic_type(value.type).tag)
    numbers = tuple(int(number) for number in match.groups())
    for known in SMALL_FLOATS.values():
        if (known.exponent_bits, known.mantissa_bits, known.bias) == numbers:
            return known.decode(int(value["x"]))
    raise Instead("<unknown format, bits 0x%x>" % int(value["x"]))


def complex_number(value):
    parts = value["real_"], value["imag_"]
    if parts[0].type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT:
        parts = tuple(small_float(part) for part in parts)
    return complex_text(*parts)


class ResultPrinter(Printer):
    def text(self):
        error = enumerator(self.value["error_"])
        message = self.value["message_"]
        if error == "Ok" or int(message) == 0:
            return error
        try:
            return "%s: %s" % (error, message.string(errors="replace"))
        except gdb.error:
            return "%s: <cannot read 0x%x>" % (error, int(message))

    def children(self):
        try:
            if int(self.value["error_"]) == 0:
                yield "value", self.value["value_"]
        except gdb.error:
            return  # to_string() has said it


def deleter_text(value):
    if int(value["ops_"]) != 0:
        return "set, argument 0x%x" % int(value["argument_"])
    return "empty (OutOfMemory)" if int(value["argument_"]) != 0 else "empty"


def backend_text(value):
    """A backend as the class that it was made as, and what it holds."""
    pointer = value.address
    backend = pointer.cast(pointer.dynamic_type).dereference()
    name = re.sub("^" + NAMESPACE, "", backend.type.strip_typedefs().name)
    if name == "ArenaBackend":
        first, top, highest, end = (int(backend[member]) for member in
                                    ("first_", "top_", "highest_", "end_"))
        notes = "%d of %d bytes used, high water %d" % (top - first, end - first,
                                                        highest - first)
        blocks = int(backend["live_"])
    elif name == "TrackingBackend":
        counts = backend["counts_"]
        notes = "%d bytes live, peak %d" % (counts["live_bytes"], counts["peak_bytes"])
        blocks = int(counts["live_count"])
    elif name == "PoolBackend":
        counts = backend["counts_"]
        notes = "%d bytes live, %d cached" % (counts["live_bytes"], counts["cached_bytes"])
        blocks = int(counts["live_blocks"])
    else:
        notes = ""
        if int(backend["state_"]) == 0:
            return name
        state = backend["state_"].dereference()
        users = state["count"] if int(state["one_thread"]) else count_in(state["users"])
        blocks = int(users) - 1 - count_in(state["wrappers"])
    text = "%s (%s%d live block%s)" % (name, notes and notes + ", ", blocks,
                                       "" if blocks == 1 else "s")
    inner = member_in(backend, lambda f: f.name == "inner_")  # of a WrapperBackend
    if inner is not None and inner.type.code == gdb.TYPE_CODE_REF:
        text += " over " + TextPrinter(inner.referenced_value(), backend_text).to_string()
    return text


# With the inline ABI namespace of any version and mode, and that of ATen mode's own types.
NAMESPACE = r"tenon::(?:v\d\w*::)?(?:own::)?"
SMART_POINTER = (r"^std::(?:__\w+::)*(unique_ptr|shared_ptr)<(?:const )?%sTensor(?:Impl)?[ ,>]"
                 % NAMESPACE)

# In the order of ValueKind.
VALUE_KINDS = ["None", "Tensor", "Int", "Double", "Bool", "String", "TensorList",
               "OptionalTensorList", "IntList", "DoubleList", "BoolList", "StringList"]


def text_at(pointer):
    """The zero-terminated text, in quotes."""
    return pointer.format_string(symbols=False).split(" ", 1)[-1]


class TextsPrinter(ArrayPrinter):
    """std::string_views, whose members differ from library to library."""

    def children(self):
        for i in range(int(min(int(self.size), element_limit() + 1))):
            try:
                view = self.first[i]
                yield "[%d]" % i, next(text_at(view[field.name]) for field in view.type.fields()
                                       if view[field.name].type.code == gdb.TYPE_CODE_PTR)
            except Exception:
                return


def span_printer(value):
    return ArrayPrinter("Span", value["data_"], value["size_"])


def evalue_printer(value):
    number = int(value["kind_"])
    if number >= len(VALUE_KINDS):
        return TextPrinter("<corrupt: EValue of kind %d>" % number)
    kind = VALUE_KINDS[number]
    numbers = value["number_"]
    if kind == "None":
        return TextPrinter(kind)
    if kind == "Bool":
        return TextPrinter("Bool " + ("true" if int(numbers["integer"]) else "false"))
    if kind in ("Tensor", "Int", "Double"):
        held = {"Tensor": value["tensor_"], "Int": numbers["integer"], "Double": numbers["real"]}
        return TextPrinter("%s %s" % (kind, text_of(held[kind])))
    element = {"IntList": numbers["integer"].type, "DoubleList": numbers["real"].type,
               "String": gdb.lookup_type("char"), "BoolList": gdb.lookup_type("bool")
               }.get(kind, value["tensor_"].type)
    if kind == "StringList":
        element = gdb.lookup_type("std::string_view").strip_typedefs()
    # A ValueList is a ListHead with a pointer behind it. Compilers and debuggers spell its name in
    # different ways, and a list of no elements may have no debug information.
    head = pointer_in(value["list_"])
    first = at(int(head) + head.dereference().type.sizeof, element.pointer())
    if kind == "String":
        return TextPrinter("String " + text_at(first))
    return (TextsPrinter if kind == "StringList" else ArrayPrinter)(kind, first, head.dereference()["size"])


class Printers(gdb.printing.RegexpCollectionPrettyPrinter):
    """Finds the printer for a value, and for what references, pointers and smart pointers to
    tensors lead to."""

    def __call__(self, value):
        kind = gdb.types.get_basic_type(value.type)
        while kind.code == gdb.TYPE_CODE_PTR:
            kind = gdb.types.get_basic_type(kind.target())
        if not re.match("(std::.*<(const )?)?tenon::", kind.tag or ""):
            return None
        prefix, uses = "", None
        try:
            while True:
                kind = value.type.strip_typedefs()
                smart = re.match(SMART_POINTER, gdb.types.get_basic_type(kind).tag or "")
                if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
                    value = value.referenced_value()
                    continue
                if (re.match(NAMESPACE + "TensorArg$", kind.tag or "")
                        and not gdb.types.has_field(kind, "fields_")):  # that of ATen mode
                    value = value["tensor_"]
                    continue
                if not smart and kind.code != gdb.TYPE_CODE_PTR:
                    break
                pointer = pointer_in(value) if smart else value
                if int(pointer) == 0 and not smart and not prefix:
                    return None  # gdb tells a null pointer from one that is optimised out
                name = "std::" + smart.group(1) if smart else "0x%x" % int(pointer)
                if int(pointer) == 0:
                    return TextPrinter(prefix + (name + " (null)" if smart else name))
                uses = use_count(value) if smart else None
                prefix += name + " to "
                value = pointer.dereference()
            printer = super().__call__(value)
        except Exception as error:
            return TextPrinter(prefix + cannot_read(error))
        if printer is not None:
            printer.prefix = prefix + printer.prefix
            printer.uses = uses
        return printer


PRINTERS = Printers("tenon")
for pattern, printer, *arguments in (
        ("Tensor", TensorPrinter),
        ("TensorImpl|TensorArg", TensorImplPrinter),
        ("TensorView|ViewWithLists", TensorViewPrinter),
        ("Blob", BlobPrinter),
        ("EValue", evalue_printer),
        ("Span<.*>", span_printer),
        ("Result<.*>", ResultPrinter),
        ("Dims|DimOrder|detail(?:_values)?::(?:InlineArray<.*>|StridesArg|DimOrderArg)", TextPrinter,
         dims_text),
        ("detail::Layout", TextPrinter, layout_text),
        ("Scalar", TextPrinter, scalar_text),
        ("detail::SmallFloat<.*>", TextPrinter, lambda value: text_of(small_float(value))),
        ("complex<.*>", TextPrinter, complex_number),
        ("Device", TextPrinter, device_text),
        ("Deleter", TextPrinter, deleter_text),
        (r"\w*Backend", TextPrinter, backend_text)):
    PRINTERS.add_printer(re.search(r"\w{3,}", pattern.replace("detail::", "")).group(),
                         "^%s(?:%s)$" % (NAMESPACE, pattern),
                         lambda value, make=printer, more=arguments: make(value, *more))


def register_printers(_=None):
    """Puts the printers before those of the standard library, which come with its own file of
    symbols: the program's file is asked first."""
    files = gdb.objfiles()
    if files and not any(p is PRINTERS for p in files[0].pretty_printers):
        gdb.printing.register_pretty_printer(files[0], PRINTERS, replace=True)


# `*p` and `p->` of a smart pointer without calling the process.
for name, method, function in (
        ("get", "operator->$|get$", lambda this: pointer_in(this.dereference())),
        ("dereference", r"operator\*$", lambda this: pointer_in(this.dereference()).dereference())):
    gdb.xmethod.register_xmethod_matcher(None, gdb.xmethod.SimpleXMethodMatcher(
        "tenon-" + name, SMART_POINTER, method, function), replace=True)
register_printers()
gdb.events.new_objfile.connect(register_printers)
