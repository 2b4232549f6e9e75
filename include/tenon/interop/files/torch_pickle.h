// SPDX-License-Identifier: MIT
// Reads the pickles in a file of torch.save, protocols 2 to 5. It runs no code: a global is only a
// name, and an unknown name is an error.
#pragma once

#include "tenon/interop/files/file.h"
#include "tenon/interop/files/torch_values.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The longest pickle that is read: the graph of a pickle takes up to 80 times its bytes.
inline constexpr uint64_t kMaxPickle = uint64_t{1} << 28;

/// Reads one pickle.
class TorchUnpickler {
 public:
  /// The pickle begins at `begin` of the file, and ends before `end`.
  TorchUnpickler(const unsigned char* file, uint64_t begin, uint64_t end,
                 PickleGraph& graph) noexcept
      : file_(file),
        at_(begin),
        begin_(begin),
        start_(begin),
        end_(end),
        graph_(graph),
        maker_(graph) {
    if (end - begin > kMaxPickle) end_ = begin + kMaxPickle;
  }

  /// Reads the pickle's value.
  /// Errors: InvalidArgument; NotSupported (a global, an opcode). The message has the byte
  /// position.
  Error read(uint32_t& value) {
    if (end_ - at_ < 2 || file_[at_] != 0x80) return refuse("expected a pickle of protocol 2 to 5");
    bool is_done = false;
    while (!is_done) {
      start_ = at_;
      if (at_ == end_) return refuse("it ends without its STOP");
      TENON_TRY(step(file_[at_++], is_done));
    }
    if (stack_.size() != 1 || !marks_.empty())
      return refuse("at STOP the stack does not have exactly one value");
    value = stack_.back();
    return Error::Ok;
  }
  /// The position after the pickle.
  uint64_t end() const noexcept { return at_; }

 private:
  template <class... Parts>
  Error refuse(const Parts&... what) const noexcept {
    return fail(Error::InvalidArgument, "the pickle: ", what..., " (byte ", start_, ")");
  }

  Error add_byte(Error error) const noexcept {
    return error == Error::Ok ? error : refuse(last_error_message());
  }

  Error step(unsigned char opcode, bool& is_done) {
    switch (opcode) {
      case 0x80: {  // PROTO
        uint64_t protocol = 0;
        TENON_TRY(take(1, protocol));
        if (protocol >= 2 && protocol <= 5) return Error::Ok;
        return refuse("protocol ", protocol, ", expected 2 to 5");
      }
      case 0x95: {  // FRAME
        uint64_t size = 0;
        return take(8, size);
      }
      case '.': is_done = true; return Error::Ok;
      case 'N': return push(PickleGraph::kNone);
      case 0x88: return push(PickleGraph::kTrue);
      case 0x89: return push(PickleGraph::kFalse);
      case 'J': return push_int(4, true);
      case 'K': return push_int(1, false);
      case 'M': return push_int(2, false);
      case 0x8a: return push_long(1);
      case 0x8b: return push_long(4);
      case 'G': return push_float();
      case 'X':  // BINUNICODE, BINSTRING
      case 'T': return push_text(PickleKind::Text, 4);
      case 0x8c:  // SHORT_BINUNICODE, SHORT_BINSTRING
      case 'U': return push_text(PickleKind::Text, 1);
      case 0x8d: return push_text(PickleKind::Text, 8);
      case 'B': return push_text(PickleKind::Bytes, 4);
      case 'C': return push_text(PickleKind::Bytes, 1);
      case 0x8e:  // BINBYTES8, BYTEARRAY8
      case 0x96: return push_text(PickleKind::Bytes, 8);
      case ')':  // EMPTY_TUPLE, EMPTY_LIST, EMPTY_SET
      case ']':
      case 0x8f: return push(graph_.add(PickleKind::List));
      case '}': return push(graph_.add(PickleKind::Dict));
      case '(': marks_.push_back(stack_.size()); return Error::Ok;
      case 't':  // TUPLE, FROZENSET
      case 0x91: return end_tuple();
      case 0x85:
      case 0x86:
      case 0x87: return end_tuple(opcode - 0x84u);
      case 'a': return extend(PickleKind::List, 1);
      case 's': return extend(PickleKind::Dict, 2);
      case 'e':  // APPENDS, ADDITEMS
      case 0x90: return extend_to_mark(PickleKind::List);
      case 'u': return extend_to_mark(PickleKind::Dict);
      case '0': return drop(1);
      case '1': {  // POP_MARK
        size_t count = 0;
        TENON_TRY(end_mark(count));
        return drop(count);
      }
      case '2':  // DUP
        TENON_TRY(expect(1));
        return push(stack_.back());
      case 'q': return put(1);
      case 'r': return put(4);
      case 0x94: return put(0);
      case 'h': return get(1);
      case 'j': return get(4);
      case 'c': return push_global();
      case 0x93: return push_stack_global();
      case 'R':  // REDUCE, NEWOBJ
      case 0x81: return reduce();
      case 'b': return build();
      case 'Q': return push_storage();
      default:
        return fail(Error::NotSupported, "the pickle: opcode ", static_cast<unsigned>(opcode),
                    ", which torch.save does not write (byte ", start_, ")");
    }
  }

  // --- Bytes ------------------------------------------------------------------------------------

  Error skip(uint64_t count) noexcept {
    if (count > end_ - at_) return refuse("it ends within a value of ", count, " bytes");
    at_ += count;
    return Error::Ok;
  }
  /// Takes a little-endian number of `count` bytes.
  Error take(size_t count, uint64_t& number) noexcept {
    TENON_TRY(skip(count));
    number = 0;
    for (size_t i = 0; i < count; ++i) number = number << 8 | file_[at_ - 1 - i];
    return Error::Ok;
  }
  /// Takes a line, without the newline.
  Error take_line(std::string_view& line) noexcept {
    const auto* const begin = reinterpret_cast<const char*>(file_ + at_);
    const uint64_t room = end_ - at_;
    const auto left = static_cast<size_t>(room);
    const void* const newline = left == 0 ? nullptr : std::memchr(begin, '\n', left);
    if (newline == nullptr) return refuse("a global's name does not end");
    line = {begin, static_cast<size_t>(static_cast<const char*>(newline) - begin)};
    at_ += line.size() + 1;
    return Error::Ok;
  }

  // --- The stack --------------------------------------------------------------------------------

  Error push(uint32_t value) {
    stack_.push_back(value);
    return Error::Ok;
  }
  Error push(const PickleValue& value) { return push(graph_.add(value)); }
  /// Checks that there are at least `count` values after the last mark.
  Error expect(size_t count) const noexcept {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    return stack_.size() - floor >= count ? Error::Ok
                                          : refuse("it takes more values than there are");
  }
  Error drop(size_t count) {
    TENON_TRY(expect(count));
    stack_.resize(stack_.size() - count);
    return Error::Ok;
  }
  Error end_mark(size_t& count) {
    if (marks_.empty()) return refuse("an opcode needs a MARK, and there is none");
    count = stack_.size() - marks_.back();
    marks_.pop_back();
    return Error::Ok;
  }
  /// Moves the last `count` values of the stack into a container's cells.
  Error move_into(uint32_t container, size_t count) {
    for (size_t i = stack_.size() - count; i < stack_.size(); ++i) {
      const auto cell = static_cast<uint32_t>(graph_.cells.size());
      graph_.cells.push_back({stack_[i], 0});
      PickleValue& value = graph_.values[container];
      (value.size == 0 ? value.first : graph_.cells[value.last].next) = cell;
      value.last = cell;
      ++value.size;
    }
    stack_.resize(stack_.size() - count);
    return Error::Ok;
  }
  Error end_tuple() {
    size_t count = 0;
    TENON_TRY(end_mark(count));
    return end_tuple(count);
  }
  Error end_tuple(size_t count) {
    TENON_TRY(expect(count));
    const uint32_t tuple = graph_.add(PickleKind::List);
    TENON_TRY(move_into(tuple, count));
    return push(tuple);
  }
  Error extend_to_mark(PickleKind kind) {
    size_t count = 0;
    TENON_TRY(end_mark(count));
    return extend(kind, count);
  }
  Error extend(PickleKind kind, size_t count) {
    TENON_TRY(expect(count + 1));
    const uint32_t container = stack_[stack_.size() - count - 1];
    if (graph_.kind(container) != kind || (kind == PickleKind::Dict && count % 2 != 0)) {
      return refuse(kind == PickleKind::Dict ? "it sets entries of a value that is not a dict"
                                             : "it appends to a value that is not a list");
    }
    return move_into(container, count);
  }

  // --- Values -----------------------------------------------------------------------------------

  Error push_int(size_t bytes, bool is_signed) {
    uint64_t number = 0;
    TENON_TRY(take(bytes, number));
    PickleValue value;
    value.kind = PickleKind::Int;
    value.integer = is_signed ? static_cast<int32_t>(static_cast<uint32_t>(number))
                              : static_cast<int64_t>(number);
    return push(value);
  }
  Error push_long(size_t bytes) {
    uint64_t size = 0;
    TENON_TRY(take(bytes, size));
    TENON_TRY(skip(size));
    PickleValue value;
    value.kind = size <= 8 ? PickleKind::Int : PickleKind::LongInt;
    value.size = size;
    value.text = reinterpret_cast<const char*>(file_ + (at_ - size));
    if (size <= 8) {
      uint64_t number = size != 0 && file_[at_ - 1] >= 0x80 ? ~uint64_t{0} : 0;
      for (uint64_t i = 0; i < size; ++i) number = number << 8 | file_[at_ - 1 - i];
      value.integer = static_cast<int64_t>(number);
    }
    return push(value);
  }
  Error push_float() {
    TENON_TRY(skip(8));
    uint64_t bits = 0;
    for (uint64_t i = 8; i > 0; --i) bits = bits << 8 | file_[at_ - i];
    PickleValue value;
    value.kind = PickleKind::Float;
    std::memcpy(&value.real, &bits, sizeof bits);
    return push(value);
  }
  Error push_text(PickleKind kind, size_t bytes) {
    PickleValue value;
    TENON_TRY(take(bytes, value.size));
    TENON_TRY(skip(value.size));
    value.kind = kind;
    value.text = reinterpret_cast<const char*>(file_ + (at_ - value.size));
    return push(value);
  }

  Error put(size_t bytes) {
    uint64_t place = memo_.size();
    if (bytes != 0) TENON_TRY(take(bytes, place));
    TENON_TRY(expect(1));
    const uint64_t i = place;
    // The memo's places count from 0, and each takes at least one byte of the pickle.
    if (i >= end_ - begin_)
      return refuse("place ", i, " of its memo is beyond the pickle's length");
    if (i >= memo_.size()) memo_.resize(static_cast<size_t>(i) + 1, kUnset);
    memo_[static_cast<size_t>(i)] = stack_.back();
    return Error::Ok;
  }
  Error get(size_t bytes) {
    uint64_t place = 0;
    TENON_TRY(take(bytes, place));
    const uint64_t i = place;
    if (i >= memo_.size() || memo_[static_cast<size_t>(i)] == kUnset) {
      return refuse("place ", i, " of its memo is empty");
    }
    return push(memo_[static_cast<size_t>(i)]);
  }

  // --- Globals ----------------------------------------------------------------------------------

  Error push_global() {
    std::string_view module;
    std::string_view name;
    TENON_TRY(take_line(module));
    TENON_TRY(take_line(name));
    return push_global(module, name);
  }
  Error push_stack_global() {
    TENON_TRY(expect(2));
    const PickleValue name = graph_.values[stack_.back()];
    const PickleValue module = graph_.values[stack_[stack_.size() - 2]];
    if (name.kind != PickleKind::Text || module.kind != PickleKind::Text) {
      return refuse("a global's name is not a text");
    }
    TENON_TRY(drop(2));
    return push_global(module.view(), name.view());
  }
  Error push_global(std::string_view module, std::string_view name) {
    PickleValue value;
    value.kind = PickleKind::Global;
    value.global = find_torch_global(module, name);
    value.text = name.data();
    value.size = name.size();
    if (value.global.global != TorchGlobal::Unknown) return push(value);
    return fail(Error::NotSupported, "the file makes a `", ShownText(module).text, ".",
                ShownText(name).text, "` (byte ", start_,
                "), and tenon runs no code of a file; save the weights alone: "
                "torch.save(model.state_dict(), path)");
  }

  Error reduce() {
    TENON_TRY(expect(2));
    const uint32_t args = stack_.back();
    TENON_TRY(drop(1));
    uint32_t made = 0;
    TENON_TRY(add_byte(maker_.call(stack_.back(), args, made)));
    stack_.back() = made;
    return Error::Ok;
  }
  Error build() {
    TENON_TRY(expect(2));
    const uint32_t state = stack_.back();
    TENON_TRY(drop(1));
    return add_byte(maker_.set_state(stack_.back(), state));
  }
  Error push_storage() {
    TENON_TRY(expect(1));
    uint32_t made = 0;
    TENON_TRY(add_byte(maker_.make_storage(stack_.back(), made)));
    stack_.back() = made;
    return Error::Ok;
  }

  static constexpr uint32_t kUnset = UINT32_MAX;

  const unsigned char* file_;
  uint64_t at_;
  uint64_t begin_;
  uint64_t start_;  // of the opcode
  uint64_t end_;
  PickleGraph& graph_;
  TorchMaker maker_;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;
  std::vector<uint32_t> memo_;
};

}  // namespace detail
TENON_END_NAMESPACE
