// SPDX-License-Identifier: MIT
// For real_files.py: ExecuTorch's build makes it, empty.
#pragma once
