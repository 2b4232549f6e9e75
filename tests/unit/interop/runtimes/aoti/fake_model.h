// SPDX-License-Identifier: MIT
// What fake_model.cpp does in a run, by the first element of its input. It has two outputs, y = x * scale + bias and z.
#pragma once

namespace tests {

enum class Does {
  NoSecondOutput = 0,  // z is null
  HandThrough,         // z is x
  Constant,            // z is the scale
  ViewOfOutput,        // z is a part of y
  SwapOutputs,         // z is y, and y another tensor
  FailAtOnce,          // before the inputs are taken
  FailACheck,          // by aoti_torch_check
  FailWithOutputs,     // with y made
  AskForTooMuch,
  Leak,
  DeleteTwice,
  SameHandleTwice,  // z is y, by its handle, as in generated code
  InputTaken,       // z is x, by its handle, which was taken
  InputLeft,        // z is x, by its handle, which is left to the caller too
  ConstantItself,   // z is the scale, by the model's own handle
  FailWithTwice,    // with both outputs made, by one handle
  UndefinedOutput,  // z is an undefined tensor
  Number,           // z is a tensor of one int64
};

}  // namespace tests
