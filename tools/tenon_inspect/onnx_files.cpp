// SPDX-License-Identifier: MIT
// The initialisers, inputs and outputs of .onnx files, which are protocol buffers: what is needed of
// these is read here, so that no runtime is. Source: onnx/onnx.proto.
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "inspect.h"
#include "tenon/exchange/binary.h"
#include "tenon/interop/files/file.h"

namespace inspect {

using namespace tenon;

namespace {

constexpr struct {
  int64_t number;  // of TensorProto.DataType
  const char* name;
  ScalarType type;
  int64_t bits;  // of an element; 0 for texts
} kTypes[] = {
    {1, "FLOAT", ScalarType::Float, 32},
    {2, "UINT8", ScalarType::Byte, 8},
    {3, "INT8", ScalarType::Char, 8},
    {4, "UINT16", ScalarType::UInt16, 16},
    {5, "INT16", ScalarType::Short, 16},
    {6, "INT32", ScalarType::Int, 32},
    {7, "INT64", ScalarType::Long, 64},
    {8, "STRING", ScalarType::Undefined, 0},
    {9, "BOOL", ScalarType::Bool, 8},
    {10, "FLOAT16", ScalarType::Half, 16},
    {11, "DOUBLE", ScalarType::Double, 64},
    {12, "UINT32", ScalarType::UInt32, 32},
    {13, "UINT64", ScalarType::UInt64, 64},
    {14, "COMPLEX64", ScalarType::ComplexFloat, 64},
    {15, "COMPLEX128", ScalarType::ComplexDouble, 128},
    {16, "BFLOAT16", ScalarType::BFloat16, 16},
    {17, "FLOAT8E4M3FN", ScalarType::Float8_e4m3fn, 8},
    {18, "FLOAT8E4M3FNUZ", ScalarType::Float8_e4m3fnuz, 8},
    {19, "FLOAT8E5M2", ScalarType::Float8_e5m2, 8},
    {20, "FLOAT8E5M2FNUZ", ScalarType::Float8_e5m2fnuz, 8},
    {21, "UINT4", ScalarType::Undefined, 4},
    {22, "INT4", ScalarType::Undefined, 4},
    {23, "FLOAT4E2M1", ScalarType::Undefined, 4},
    {24, "FLOAT8E8M0", ScalarType::Undefined, 8},
    {25, "UINT2", ScalarType::Undefined, 2},
    {26, "INT2", ScalarType::Undefined, 2},
};
using Type = std::remove_reference_t<decltype(kTypes[0])>;

/// A field of a message: a number, or bytes, which may be a message.
struct Field {
  uint64_t number = 0;
  int kind = 0;  // 0: value; 1, 2, 5: bytes
  uint64_t value = 0;
  std::string_view bytes;
};

/// The fields of a message, one after the other. Nothing is read beyond its bytes.
class Message {
 public:
  Message(std::string_view bytes, const char* file) : bytes_(bytes), file_(file) {}

  bool next(Field& field) {
    if (bytes_.empty()) return false;
    const uint64_t key = varint();
    field = {key >> 3, static_cast<int>(key & 7), 0, {}};
    if (field.kind == 0) {
      field.value = varint();
    } else if (field.kind == 2) {
      field.bytes = take(varint());
    } else if (field.kind == 1 || field.kind == 5) {
      field.bytes = take(field.kind == 1 ? 8 : 4);
    } else {
      fail("no field begins so");
    }
    return true;
  }
  bool is_empty() const { return bytes_.empty(); }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      if (shift == 63 && byte > 1) fail("a number is longer than 64 bits");
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    fail("a number is longer than 64 bits");
  }

 private:
  std::string_view take(uint64_t count) {
    if (count > bytes_.size()) fail("the file or a message ends within a field");
    const std::string_view out = bytes_.substr(0, static_cast<size_t>(count));
    bytes_.remove_prefix(out.size());
    return out;
  }
  [[noreturn]] void fail(const char* why) const {
    throw std::runtime_error("not a valid ONNX model: byte " +
                             std::to_string(bytes_.data() - file_) + ": " + why);
  }

  std::string_view bytes_;
  const char* file_;
};

/// What several tensors need of the file.
struct Model {
  std::string path;
  detail::FileBytes bytes;
  std::map<std::string, std::shared_ptr<detail::FileBytes>> files;  // beside it, once opened

  Message message(std::string_view bytes_of_it) const {
    return {bytes_of_it, reinterpret_cast<const char*>(bytes.data)};
  }
};

struct TensorProto {
  std::string name;
  std::string in_file;  // the dtype's name
  ScalarType type = ScalarType::Undefined;
  uint64_t nbytes = 0;  // as sizes and dtype say
  Dims sizes;
  int64_t numel = 1;
  std::string_view raw;      // where has_raw
  std::string_view message;  // with the elements, unless they are raw or external
  bool has_raw = false;
  bool is_external = false;
  std::map<std::string, std::string> external;  // "location", "offset", "length"
};

const Type* find_type(int64_t number) {
  for (const Type& type : kTypes) {
    if (type.number == number) return &type;
  }
  return nullptr;
}
std::string type_name(int64_t number) {
  const Type* const type = find_type(number);
  return type != nullptr ? type->name : "type " + std::to_string(number);
}

TensorProto read_tensor(const Model& model, std::string_view bytes) {
  TensorProto out;
  out.message = bytes;
  int64_t type_number = 0;
  Message message = model.message(bytes);
  const auto add_size = [&](uint64_t size) {
    if (out.sizes.size() == 64) throw std::runtime_error("a tensor has more than 64 dimensions");
    out.sizes.push_back(static_cast<int64_t>(size));
  };
  for (Field f; message.next(f);) {
    if (f.number == 1 && f.kind == 0) add_size(f.value);
    if (f.number == 1 && f.kind == 2) {
      for (Message sizes = model.message(f.bytes); !sizes.is_empty();) add_size(sizes.varint());
    }
    if (f.number == 2 && f.kind == 0) type_number = static_cast<int64_t>(f.value);
    if (f.number == 8 && f.kind == 2) out.name = f.bytes;
    if (f.number == 9 && f.kind == 2) {
      out.raw = f.bytes;
      out.has_raw = true;
    }
    if (f.number == 13 && f.kind == 2) {
      std::string key;
      std::string value;
      Message pair = model.message(f.bytes);
      for (Field part; pair.next(part);) {
        if (part.number == 1) key = part.bytes;
        if (part.number == 2) value = part.bytes;
      }
      out.external[key] = value;
    }
    if (f.number == 14 && f.kind == 0) out.is_external = f.value == 1;
  }
  const Type* const type = find_type(type_number);
  out.in_file = type_name(type_number);
  const int64_t bits = type != nullptr ? type->bits : 0;
  if (type != nullptr) out.type = type->type;
  bool is_empty = false;
  bool is_beyond = false;
  for (const int64_t size : out.sizes) {
    if (size < 0) throw std::runtime_error("initializer " + out.name + ": a size is negative");
    is_empty = is_empty || size == 0;
    is_beyond = is_beyond || (size != 0 && out.numel > (INT64_MAX / 128) / size);
    if (!is_beyond && size != 0) out.numel *= size;
  }
  if (is_empty) out.numel = 0;
  if (is_beyond && !is_empty) {
    throw std::runtime_error("initializer " + out.name + ": its sizes are beyond 64 bits");
  }
  out.nbytes = (static_cast<uint64_t>(out.numel * bits) + 7) / 8;
  return out;
}

uint64_t number_in(const TensorProto& tensor, const char* key, uint64_t otherwise) {
  const auto at = tensor.external.find(key);
  if (at == tensor.external.end()) return otherwise;
  const std::string& digits = at->second;
  if (digits.empty() || digits.size() > 18 ||
      digits.find_first_not_of("0123456789") != digits.npos) {
    throw std::runtime_error(std::string("external data: ") + key + " is \"" + digits +
                             "\", expected a number");
  }
  return std::stoull(digits);
}

/// Beside the model, or in a folder there.
bool is_inside(const std::string& location) {
  if (location.empty() || location[0] == '/') return false;
  if (location.find('\\') != location.npos || location.find('\0') != location.npos) return false;
  for (size_t begin = 0; begin <= location.size();) {
    const size_t end = std::min(location.find('/', begin), location.size());
    if (location.substr(begin, end - begin) == "..") return false;
    begin = end + 1;
  }
  return true;
}

/// The bytes of the elements, which the file or one beside it has; `hold` keeps them.
std::string_view find_bytes(const std::shared_ptr<Model>& model, const TensorProto& tensor,
                            std::shared_ptr<const void>& hold) {
  if (!tensor.is_external) {
    hold = model;
    return tensor.raw;
  }
  const auto at = tensor.external.find("location");
  const std::string location = at == tensor.external.end() ? "" : at->second;
  if (!is_inside(location)) {
    throw std::runtime_error("external data: \"" + location +
                             "\" is not a file in the model's folder");
  }
  auto& file = model->files[location];
  if (file == nullptr) {
    const std::string path = model->path.substr(0, model->path.rfind('/') + 1) + location;
    auto opened = std::make_shared<detail::FileBytes>();
    if (opened->open(path.c_str()) != Error::Ok) {
      throw std::runtime_error("external data: " + location + ": " + last_error_message());
    }
    file = opened;
  }
  hold = file;
  const uint64_t offset = number_in(tensor, "offset", 0);
  const uint64_t length = number_in(tensor, "length", tensor.nbytes);
  if (offset > file->size || length > file->size - offset) {
    throw std::runtime_error("external data: bytes " + std::to_string(offset) + " to " +
                             std::to_string(offset + length) + " of " + location + ", which has " +
                             std::to_string(file->size));
  }
  return {reinterpret_cast<const char*>(file->data) + offset, static_cast<size_t>(length)};
}

[[noreturn]] void fail_count(const TensorProto& tensor, uint64_t count, const char* of) {
  throw std::runtime_error(
      "the sizes need " +
      std::to_string(*of == 'b' ? tensor.nbytes : static_cast<uint64_t>(tensor.numel)) + " " + of +
      ", there are " + std::to_string(count));
}

/// The field of TensorProto that has elements of a dtype.
uint64_t field_of(ScalarType type) {
  switch (type) {
    case ScalarType::Float:
    case ScalarType::ComplexFloat: return 4;
    case ScalarType::Double:
    case ScalarType::ComplexDouble: return 10;
    case ScalarType::Long: return 7;
    case ScalarType::UInt32:
    case ScalarType::UInt64: return 11;
    default: return 5;
  }
}

/// Elements in a field of numbers: two passes, so that they are counted before memory is asked for.
Tensor unpack(const Model& model, const TensorProto& tensor) {
  const uint64_t number = field_of(tensor.type);
  const size_t size = number == 4 ? 4 : number == 10 ? 8 : elementSize(tensor.type);
  const size_t per_element = elementSize(tensor.type) / size;
  char* to = nullptr;
  uint64_t count = 0;
  const auto pass = [&] {
    Message message = model.message(tensor.message);
    for (Field f; message.next(f);) {
      if (f.number != number) continue;
      if (number == 4 || number == 10) {  // little-endian, packed or not
        if (f.kind == 0 || f.bytes.size() % size != 0) fail_count(tensor, f.bytes.size(), "bytes");
        count += f.bytes.size() / size;
        if (to == nullptr) continue;
        std::memcpy(to, f.bytes.data(), f.bytes.size());
        if (detail::host_is_big_endian()) detail::swap_byte_order(to, f.bytes.size(), size);
        to += f.bytes.size();
        continue;
      }
      const auto add = [&](uint64_t value) {
        ++count;
        if (to == nullptr) return;
        // The low bytes: of a small float they are its bits.
        if (detail::host_is_big_endian()) value <<= 8 * (8 - size);
        std::memcpy(to, &value, size);
        to += size;
      };
      if (f.kind == 0) add(f.value);
      for (Message values = model.message(f.bytes); f.kind == 2 && !values.is_empty();) {
        add(values.varint());
      }
    }
  };
  pass();
  if (count != static_cast<uint64_t>(tensor.numel) * per_element) {
    fail_count(tensor, count / per_element, "elements");
  }
  const TensorPtr out = empty(tensor.sizes, tensor.type);
  to = static_cast<char*>(out->mutable_data_ptr());
  if (count != 0) pass();
  return *out;
}

/// `type`: the tensor's own, or Byte for the bytes of a dtype that tenon lacks.
Tensor load(const std::shared_ptr<Model>& model, const TensorProto& tensor, ScalarType type) {
  const bool is_own = type == tensor.type;
  if (!tensor.is_external && !tensor.has_raw && is_own) return unpack(*model, tensor);
  std::shared_ptr<const void> hold;
  const std::string_view bytes = find_bytes(model, tensor, hold);
  if (bytes.size() != tensor.nbytes) fail_count(tensor, bytes.size(), "bytes");
  const Dims sizes = is_own ? tensor.sizes : Dims{static_cast<int64_t>(bytes.size())};
  const size_t number_size = isComplexType(type) ? elementSize(type) / 2 : elementSize(type);
  auto* const data = const_cast<char*>(bytes.data());
  const bool is_aligned = reinterpret_cast<uintptr_t>(data) % number_size == 0;
  if (is_aligned && !detail::host_is_big_endian()) {
    return *from_blob(data, sizes, type, [hold](void*) {});
  }
  const TensorPtr out = empty(sizes, type);
  if (bytes.empty()) return *out;
  std::memcpy(out->mutable_data_ptr(), data, bytes.size());
  if (detail::host_is_big_endian()) {
    detail::swap_byte_order(out->mutable_data_ptr(), bytes.size(), number_size);
  }
  return *out;
}

void add_initializer(File& out, const std::shared_ptr<Model>& model, const TensorProto& tensor) {
  const size_t size = tensor.type == ScalarType::Undefined ? 1 : elementSize(tensor.type);
  const bool is_raw = tensor.has_raw || tensor.is_external;
  const bool is_aligned =
      tensor.is_external || reinterpret_cast<uintptr_t>(tensor.raw.data()) % size == 0;
  const char* const note = is_raw && is_aligned ? "" : "copied";
  Entry entry{describe_array(tensor.name, tensor.type, tensor.in_file, tensor.sizes, note)};
  if (tensor.nbytes != 0) entry.about["nbytes"] = tensor.nbytes;
  if (tensor.is_external) {
    const auto at = tensor.external.find("location");
    entry.about["file"] = at == tensor.external.end() ? "" : at->second;
  }
  entry.is_mapped = is_raw && is_aligned;
  if (tensor.type != ScalarType::Undefined) {
    entry.load = [model, tensor](const ProgressFunction&) {
      return load(model, tensor, tensor.type);
    };
  } else if (is_raw && tensor.nbytes != 0) {
    entry.load_bytes = [model, tensor] { return load(model, tensor, ScalarType::Byte); };
  }
  out.entries.push_back(entry);
}

/// The bytes of the last field of that number.
std::string_view find_field(const Model& model, std::string_view bytes, uint64_t number) {
  std::string_view found;
  Message message = model.message(bytes);
  for (Field f; message.next(f);) {
    if (f.number == number && f.kind == 2) found = f.bytes;
  }
  return found;
}

/// A ValueInfoProto.
Json describe_port(const Model& model, std::string_view bytes, const char* role) {
  Json about = {{"name", std::string(find_field(model, bytes, 1))}, {"role", role}};
  std::string_view type = find_field(model, bytes, 2);
  const std::string_view optional = find_field(model, type, 9);
  if (!optional.empty()) type = find_field(model, optional, 1);
  const std::string_view tensor = find_field(model, type, 1);
  if (tensor.empty()) {
    about["dtype"] = !find_field(model, type, 4).empty()   ? "sequence"
                     : !find_field(model, type, 5).empty() ? "map"
                                                           : "?";
    about["note"] = "not a tensor";
    return about;
  }
  int64_t type_number = 0;
  bool has_shape = false;
  Json sizes = Json::array();
  Message fields = model.message(tensor);
  for (Field f; fields.next(f);) {
    if (f.number == 1 && f.kind == 0) type_number = static_cast<int64_t>(f.value);
    if (f.number != 2 || f.kind != 2) continue;
    has_shape = true;
    Message shape = model.message(f.bytes);
    for (Field dim; shape.next(dim);) {
      if (dim.number != 1 || dim.kind != 2) continue;
      Json size = "?";
      Message parts = model.message(dim.bytes);
      for (Field part; parts.next(part);) {
        if (part.number == 1 && part.kind == 0) size = static_cast<int64_t>(part.value);
        if (part.number == 2 && !part.bytes.empty()) size = std::string(part.bytes);
      }
      sizes.push_back(size);
    }
  }
  const Type* const known = find_type(type_number);
  const bool is_known = known != nullptr && known->type != ScalarType::Undefined;
  about["dtype"] = is_known ? toString(known->type) : type_name(type_number);
  about["in file"] = type_name(type_number);
  about["shape"] = has_shape ? sizes : Json("?");
  if (!optional.empty()) about["note"] = "optional";
  return about;
}

}  // namespace

void open_onnx(File& out, const std::string& path) {
  const auto model = std::make_shared<Model>();
  model->path = path;
  if (model->bytes.open(path.c_str()) != Error::Ok) {
    throw std::runtime_error(path + ": " + last_error_message());
  }
  const std::string_view bytes(reinterpret_cast<const char*>(model->bytes.data), model->bytes.size);
  const detail::FileKind kind = detail::file_kind(bytes.data(), bytes.size());
  if (kind.name != nullptr && std::string_view(kind.name) != "an ONNX model") {
    throw std::runtime_error(path + ": " + kind.name + "; expected an ONNX model");
  }
  try {
    const std::string_view graph = find_field(*model, bytes, 7);
    if (graph.empty()) throw std::runtime_error("not an ONNX model: it has no graph");
    std::map<std::string, bool> is_initializer;
    std::vector<Entry> ports[2];
    Message fields = model->message(graph);
    for (Field f; fields.next(f);) {
      if (f.kind != 2) continue;
      if (f.number == 5) {
        const TensorProto tensor = read_tensor(*model, f.bytes);
        is_initializer[tensor.name] = true;
        add_initializer(out, model, tensor);
      }
      if (f.number == 11) ports[0].push_back({describe_port(*model, f.bytes, "input")});
      if (f.number == 12) ports[1].push_back({describe_port(*model, f.bytes, "output")});
    }
    // Before version 4 of the format initialisers were inputs too.
    std::vector<Entry> all;
    for (std::vector<Entry>& list : ports) {
      for (Entry& port : list) {
        if (&list == &ports[0] && is_initializer.count(port.name()) != 0) continue;
        port.about["name"] = "forward." + port.name();
        all.push_back(std::move(port));
      }
    }
    out.entries.insert(out.entries.begin(), all.begin(), all.end());
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(path + ": " + reason(e));
  }
}

}  // namespace inspect
