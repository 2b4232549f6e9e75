// SPDX-License-Identifier: MIT
// For real_files.py: what react-native-executorch uses of React Native's JavaScript interface. Nothing is defined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <locale>  // wstring_convert, which libc++ has in <codecvt>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace facebook::jsi {

class Runtime;
class Value;
class Object;
class String;
class Array;
class ArrayBuffer;
class Function;
class BigInt;

class Pointer {
 public:
  Pointer(Pointer&&);
  Pointer& operator=(Pointer&&);

 protected:
  Pointer();
};
class PropNameID : public Pointer {
 public:
  static PropNameID forAscii(Runtime& runtime, const std::string& text);
  static PropNameID forUtf8(Runtime& runtime, const std::string& text);
  std::string utf8(Runtime& runtime) const;
};
class String : public Pointer {
 public:
  static String createFromAscii(Runtime& runtime, const std::string& text);
  static String createFromUtf8(Runtime& runtime, const std::string& text);
  static String createFromUtf8(Runtime& runtime, const uint8_t* text, size_t length);
  std::string utf8(Runtime& runtime) const;
};
class MutableBuffer {
 public:
  virtual ~MutableBuffer();
  virtual size_t size() const = 0;
  virtual uint8_t* data() = 0;
};
class HostObject {
 public:
  virtual ~HostObject();
  virtual Value get(Runtime& runtime, const PropNameID& name);
  virtual void set(Runtime& runtime, const PropNameID& name, const Value& value);
  virtual std::vector<PropNameID> getPropertyNames(Runtime& runtime);
};
class Object : public Pointer {
 public:
  explicit Object(Runtime& runtime);
  Object(Object&&) = default;
  Object& operator=(Object&&) = default;
  static Object createFromHostObject(Runtime& runtime, std::shared_ptr<HostObject> object);
  Value getProperty(Runtime& runtime, const char* name) const;
  bool hasProperty(Runtime& runtime, const char* name) const;
  template <class T>
  void setProperty(Runtime& runtime, const char* name, T&& value) const;
  template <class T>
  void setProperty(Runtime& runtime, const String& name, T&& value) const;
  bool isArray(Runtime& runtime) const;
  bool isArrayBuffer(Runtime& runtime) const;
  bool isFunction(Runtime& runtime) const;
  Array asArray(Runtime& runtime) const;
  Array getArray(Runtime& runtime) const;
  ArrayBuffer getArrayBuffer(Runtime& runtime) const;
  Function asFunction(Runtime& runtime) const;
  Function getFunction(Runtime& runtime) const;
  Function getPropertyAsFunction(Runtime& runtime, const char* name) const;
  void setExternalMemoryPressure(Runtime& runtime, size_t bytes) const;
};
class Array : public Object {
 public:
  Array(Runtime& runtime, size_t length);
  size_t size(Runtime& runtime) const;
  size_t length(Runtime& runtime) const;
  Value getValueAtIndex(Runtime& runtime, size_t i) const;
  template <class T>
  void setValueAtIndex(Runtime& runtime, size_t i, T&& value) const;
};
class ArrayBuffer : public Object {
 public:
  ArrayBuffer(Runtime& runtime, std::shared_ptr<MutableBuffer> buffer);
  size_t size(Runtime& runtime) const;
  uint8_t* data(Runtime& runtime) const;
};
using HostFunctionType =
    std::function<Value(Runtime& runtime, const Value& self, const Value* arguments, size_t count)>;
class Function : public Object {
 public:
  static Function createFromHostFunction(Runtime& runtime, const PropNameID& name, unsigned count,
                                         HostFunctionType function);
  template <class... Args>
  Value call(Runtime& runtime, Args&&... arguments) const;
  template <class... Args>
  Value callAsConstructor(Runtime& runtime, Args&&... arguments) const;
};
class BigInt : public Pointer {
 public:
  static BigInt fromUint64(Runtime& runtime, uint64_t value);
  static BigInt fromInt64(Runtime& runtime, int64_t value);
  uint64_t asUint64(Runtime& runtime) const;
  int64_t asInt64(Runtime& runtime) const;
};
class Value {
 public:
  Value();
  Value(Value&&) noexcept;
  Value& operator=(Value&&) noexcept;
  ~Value();
  Value(std::nullptr_t);
  Value(bool value);
  Value(double value);
  Value(int value);
  Value(Object&& object);
  Value(String&& text);
  Value(BigInt&& number);
  Value(Runtime& runtime, const Value& value);
  Value(Runtime& runtime, const Object& object);
  Value(Runtime& runtime, const String& text);
  Value(Runtime& runtime, const BigInt& number);
  static Value undefined();
  static Value null();
  bool isUndefined() const;
  bool isNull() const;
  bool isBool() const;
  bool isNumber() const;
  bool isString() const;
  bool isObject() const;
  bool isBigInt() const;
  bool asBool() const;
  bool getBool() const;
  double asNumber() const;
  double getNumber() const;
  String asString(Runtime& runtime) const;
  String getString(Runtime& runtime) const;
  Object asObject(Runtime& runtime) const;
  Object getObject(Runtime& runtime) const;
  BigInt asBigInt(Runtime& runtime) const;
};
class JSError : public std::exception {
 public:
  JSError(Runtime& runtime, std::string message);
  JSError(Runtime& runtime, const char* message);
  JSError(Runtime& runtime, Value&& value);
};
class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual Object global() = 0;
};

}  // namespace facebook::jsi
