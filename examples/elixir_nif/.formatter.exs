# SPDX-License-Identifier: MIT
[inputs: ["mix.exs", ".formatter.exs", "lib/**/*.ex", "test/**/*.{ex,exs}"]]
