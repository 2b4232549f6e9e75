# SPDX-License-Identifier: MIT
defmodule Tenon.Values do
  @moduledoc false
  # The numbers 0 to 3 of each type, encoded here.

  @doc "{type, bytes of 0 to 3}; of {:bool, 8} those of 0 and 1."
  def all do
    float8 = [
      {{:f, 8}, <<0x00, 0x3C, 0x40, 0x42>>},
      {{:f8_e4m3fn, 8}, <<0x00, 0x38, 0x40, 0x44>>},
      {{:f8_e5m2fnuz, 8}, <<0x00, 0x40, 0x44, 0x46>>},
      {{:f8_e4m3fnuz, 8}, <<0x00, 0x40, 0x48, 0x4C>>}
    ]

    integers = for kind <- [:u, :s], bits <- [8, 16, 32, 64], do: {kind, bits}
    floats = for bits <- [16, 32, 64], do: {:f, bits}
    complex = for bits <- [32, 64, 128], do: {:c, bits}
    others = integers ++ floats ++ complex ++ [{:bf, 16}]
    float8 ++ [{{:bool, 8}, <<0, 1>>}] ++ for(type <- others, do: {type, encode(type)})
  end

  defp encode(type), do: for(n <- 0..3, into: <<>>, do: encode(type, n))

  defp encode({kind, bits}, n) when kind in [:u, :s], do: <<n::little-size(bits)>>
  defp encode({:f, bits}, n), do: <<n::float-little-size(bits)>>
  defp encode({:c, bits}, n), do: encode({:f, div(bits, 2)}, n) <> encode({:f, div(bits, 2)}, 0)

  # The upper half of a float.
  defp encode({:bf, 16}, n) do
    <<_low::16, high::binary>> = <<n::float-little-32>>
    high
  end

  @doc "Calls until it is true, for five seconds."
  def eventually(fun, left \\ 500) do
    cond do
      fun.() -> true
      left == 0 -> false
      true -> Process.sleep(10) && eventually(fun, left - 1)
    end
  end
end
