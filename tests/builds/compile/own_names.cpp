// SPDX-License-Identifier: MIT
// A program's own classes with likely names, after `using namespace tenon` and `using namespace std`. In a namespace
// of the program all win over tenon's. At global scope those win that tenon does not have: GLOBAL lists names that it
// may not take; OWN_NAMESPACE has those that it has too, which docs/names.md lists.
#include <tenon/module/function_module.h>
#include <tenon/ostream.h>
#include <tenon/tenon.h>
#include <tenon/tensor/values.h>

// clang-format off
#define GLOBAL(_) \
  _(Arange) _(Arena) _(Batch) _(Buffer) _(Clone) _(Config) _(Context) _(Copy) _(Creator) _(Data) \
  _(DataPtr) _(Dataset) _(DLTensor) _(Empty) _(Event) _(Eye) _(Filled) _(Frame) _(FromBlob) \
  _(Image) _(Index) _(Input) _(Iota) _(Layer) _(Layout) _(LayoutArgs) _(List) _(ListArg) \
  _(Location) _(Logger) _(MakeTensor) _(Matrix) _(Message) _(Model) _(NameList) _(Network) \
  _(Node) _(Option) _(Optional) _(Options) _(Output) _(Point) _(Pool) _(Random) _(Range) \
  _(Sample) _(Shape) _(Size) _(Slice) _(Stream) _(Task) _(Text) _(Timer) _(Type) _(TypeArg) \
  _(Value) _(Values) _(Vector) _(View)

#define OWN_NAMESPACE(_) \
  _(Backend) _(Blob) _(Deleter) _(Device) _(DeviceType) _(DimOrder) _(Dims) _(Error) _(Exception) \
  _(Expression) _(FormatOptions) _(Generator) _(Half) _(MemoryLeak) _(Module) _(None) \
  _(Normalize) _(Outputs) _(Ownership) _(PoolBackend) _(Result) _(Scalar) _(ScalarType) _(Span) \
  _(Strides) _(Summary) _(Tensor) _(TensorSpec) _(complex) _(empty) _(slice) _(stack) _(view)
// clang-format on

using namespace tenon;
using namespace std;

#define DEFINE(name)                                                       \
  struct name {                                                            \
    int own;                                                               \
  };                                                                       \
  [[maybe_unused]] inline int use(const name& value) { return value.own; } \
  static_assert(sizeof(name) == sizeof(int));

GLOBAL(DEFINE)

namespace program {

using namespace tenon;
using namespace std;

GLOBAL(DEFINE)
OWN_NAMESPACE(DEFINE)

}  // namespace program
