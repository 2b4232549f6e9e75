// SPDX-License-Identifier: MIT
#pragma once
#include "tokenizer.h"
