# SPDX-License-Identifier: MIT
ExUnit.start()
