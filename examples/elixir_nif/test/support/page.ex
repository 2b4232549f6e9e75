# SPDX-License-Identifier: MIT
defmodule Tenon.Page do
  # docs/elixir.md, as the documentation of a module, whose examples ExUnit runs.
  @page Path.expand("../../../../docs/elixir.md", __DIR__)
  @external_resource @page
  @moduledoc File.read!(@page)
end
