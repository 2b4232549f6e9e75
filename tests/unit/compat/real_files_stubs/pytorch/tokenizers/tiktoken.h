// SPDX-License-Identifier: MIT
#pragma once
#include "pytorch/tokenizers/tokenizer.h"
