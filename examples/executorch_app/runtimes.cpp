// SPDX-License-Identifier: MIT
// What executorch::extension::Module runs in the program on tenon: the only source file that names
// tenon. Linking tenon::executorch_runtime registers ".pte" too.
#include <memory>
#include <string>

#include <tenon/interop/npy.h>
#include <tenon/module/function_module.h>
#include <tenon/module/runtimes.h>
#include <tenon/tenon.h>
#if defined(APP_HAS_AOTI)
#include <tenon/interop/aoti.h>
#include <tenon/interop/aoti_shim.h>
#endif
#if defined(APP_HAS_ONNXRUNTIME)
#include <tenon/interop/onnxruntime.h>
#endif

#include "network.h"

namespace {

/// A model that is a function of this program: the network of ../digits/network.h.
std::shared_ptr<tenon::Module> make_lambda(const tenon::ModelFile&) {
  const auto weights = [](const char* name) {
    return *tenon::read_npy(std::string(DIGITS_DATA_DIR "/") + name + ".npy");
  };
  const Network network{{weights("w1"), weights("b1")},
                        {weights("w2"), weights("b2")},
                        *tenon::empty({kPixels}),
                        *tenon::empty({kHidden})};
  auto forward = [network](tenon::Span<const tenon::EValue> inputs) {
    const tenon::Tensor& images = inputs[0].toTensor();
    auto scores = tenon::empty({images.size(0), kDigits});
    network.run(images, *scores);
    return scores;
  };
  return std::make_shared<tenon::FunctionModule>(forward, tenon::TensorSpec{{1, kSide, kSide}},
                                                 tenon::TensorSpec{{1, kDigits}});
}

[[maybe_unused]] const bool kRegistered[] = {
    tenon::register_runtime("digits.lambda", make_lambda),
#if defined(APP_HAS_AOTI)
    tenon::register_runtime<tenon::AotiModule>(".pt2"),
#endif
#if defined(APP_HAS_ONNXRUNTIME)
    tenon::register_runtime<tenon::OnnxModule>(".onnx"),
#endif
};

}  // namespace
