# SPDX-License-Identifier: MIT
defmodule Tenon.PagesTest do
  use ExUnit.Case, async: true

  doctest Tenon
  doctest Tenon.Tensor
  doctest Tenon.Type
  doctest Tenon.Backend
  doctest Tenon.Blob
  doctest Tenon.CpuBackend
  doctest Tenon.ArenaBackend
  doctest Tenon.TrackingBackend
  doctest Tenon.TemplateBackend
  doctest Tenon.ExprBackend
  doctest Tenon.Page
end
