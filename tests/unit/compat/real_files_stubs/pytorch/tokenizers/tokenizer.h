// SPDX-License-Identifier: MIT
// What ExecuTorch's programs use of meta-pytorch/tokenizers. An interface, which the tests in peer/
// implement; its classes are for real_files.py alone, and not defined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tokenizers {

enum class Error : uint32_t {
  Ok,
  Internal,
  Uninitialized,
  OutOfRange,
  LoadFailure,
  EncodeFailure,
  DecodeFailure
};

template <class T>
class Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(error) {}
  bool ok() const { return error_ == Error::Ok; }
  Error error() const { return error_; }
  T& get() { return value_; }
  const T& get() const { return value_; }
  T& operator*() { return value_; }
  const T& operator*() const { return value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }

 private:
  T value_ = T();
  Error error_ = Error::Ok;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual Error load(const std::string& path) = 0;
  virtual Result<std::vector<uint64_t>> encode(const std::string& text, int8_t bos = 0,
                                               int8_t eos = 0) const = 0;
  virtual Result<std::string> decode(uint64_t previous, uint64_t token,
                                     bool skip_special_tokens = false) const = 0;
  virtual Result<std::string> decode(const std::vector<uint64_t>& tokens,
                                     bool skip_special_tokens = false) const {
    std::string text;
    for (const uint64_t token : tokens) text += *decode(token, token, skip_special_tokens);
    return text;
  }
  virtual Result<std::string> id_to_piece(uint64_t token) const = 0;
  virtual Result<uint64_t> piece_to_id(const std::string& text) const = 0;
  virtual bool is_loaded() const { return initialized_; }
  int32_t vocab_size() const { return vocab_size_; }
  uint64_t bos_tok() const { return bos_tok_; }
  uint64_t eos_tok() const { return eos_tok_; }

 protected:
  bool initialized_ = false;
  int32_t vocab_size_ = 0;
  uint64_t bos_tok_ = 0;
  uint64_t eos_tok_ = 0;
};

class FileTokenizer : public Tokenizer {
 public:
  Error load(const std::string& path) override;
  Result<std::vector<uint64_t>> encode(const std::string& text, int8_t bos = 0,
                                       int8_t eos = 0) const override;
  using Tokenizer::decode;
  Result<std::string> decode(uint64_t previous, uint64_t token,
                             bool skip_special_tokens = false) const override;
  Result<std::string> id_to_piece(uint64_t token) const override;
  Result<uint64_t> piece_to_id(const std::string& text) const override;
};
class HFTokenizer : public FileTokenizer {};
class SPTokenizer : public FileTokenizer {};
class Llama2cTokenizer : public FileTokenizer {};
class Tekken : public FileTokenizer {};
class Tiktoken : public FileTokenizer {
 public:
  Tiktoken();
  Tiktoken(std::unique_ptr<std::vector<std::string>> special_tokens, size_t bos, size_t eos);
  Tiktoken(std::string pattern, std::unique_ptr<std::vector<std::string>> special_tokens,
           size_t bos, size_t eos);
};

}  // namespace tokenizers
