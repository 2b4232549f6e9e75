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
};

}  // namespace tests
