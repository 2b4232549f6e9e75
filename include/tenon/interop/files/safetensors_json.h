// SPDX-License-Identifier: MIT
// JsonReader: reads JSON as it comes, event by event, without a tree, which a hostile text could
// make deep and large. The parser does not call itself.
#pragma once

#if !__has_include(<nlohmann/json.hpp>)
#error "tenon: interop/safetensors.h needs <nlohmann/json.hpp> (Debian: nlohmann-json3-dev)"
#endif
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tenon/backend/calls.h"
#include "tenon/interop/files/file.h"

TENON_BEGIN_NAMESPACE
namespace detail {

/// The events are nlohmann's: each returns whether to go on. A derived reader says where it is, and
/// refuses what does not belong there.
class JsonReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// `begin` is where the text begins in its file, for messages.
  explicit JsonReader(uint64_t begin) noexcept : begin_(begin) {}

  /// Errors: InvalidArgument, with the byte of the file; OutOfMemory.
  Error read(std::string_view text) noexcept {
    const KeepErrno keep;  // numbers set it
    // The parser takes one as the end.
    const size_t zero = text.find('\0');
    if (zero != text.npos) {
      return fail(Error::InvalidArgument, "the JSON has a zero byte (byte ", begin_ + zero, ")");
    }
    start_ = at_ = text.data();
    const Error thrown = call_safely([&] {
      const bool done = nlohmann::json::sax_parse(Counted{text.data(), &at_},
                                                  Counted{text.data() + text.size(), &at_}, this);
      return done ? Error::Ok : error_;
    });
    return thrown;
  }

  bool null() override { return refuse("found null"); }
  bool boolean(bool) override { return refuse("found a boolean"); }
  bool number_integer(int64_t) override { return refuse("found a negative number"); }
  bool number_float(double, const std::string&) override {
    return refuse("found a number that is not an integer of 64 bits");
  }
  bool binary(binary_t&) override { return refuse("found bytes"); }
  bool parse_error(size_t, const std::string& token,
                   const nlohmann::json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing
    // object key - invalid string; last read: 'x'": where and what was read are said here.
    std::string_view what = error.what();
    what.remove_prefix((std::min)(what.find(": ") + 2, what.size()));
    return refuse(ShownText(what.substr(0, what.find("; last read"))).text, token);
  }

 protected:
  /// Puts what is being read into a message: tensor "a", shape.
  virtual void describe(Message& where) const noexcept = 0;

  /// Fails; false. `text`, unless empty, is out of the file.
  bool refuse(const char* what, std::string_view text = {}) noexcept {
    char where[128];
    Message message(where, sizeof where);
    describe(message);
    error_ = fail(Error::InvalidArgument, static_cast<const char*>(where), ": ", what,
                  text.empty() ? "" : " ", ShownText(text).text, " (byte ",
                  begin_ + static_cast<uint64_t>(at_ - start_), ")");
    return false;
  }

 private:
  /// A pointer that tells how far the parser is.
  struct Counted {
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;
    const char* p;
    const char** at;
    reference operator*() const noexcept { return *p; }
    Counted& operator++() noexcept {
      *at = ++p;
      return *this;
    }
    bool operator==(const Counted& other) const noexcept { return p == other.p; }
    bool operator!=(const Counted& other) const noexcept { return p != other.p; }
  };

  uint64_t begin_;
  const char* start_ = nullptr;
  const char* at_ = nullptr;
  Error error_ = Error::Internal;
};

}  // namespace detail
TENON_END_NAMESPACE
