# SPDX-License-Identifier: MIT
defmodule Tenon.Type do
  @moduledoc """
  The types of elements: Nx's names, and the like for what Nx lacks.

  Integers are `{:u | :s, 8 | 16 | 32 | 64}`, floating numbers `{:f, 8 | 16 | 32 | 64}` and `{:bf, 16}`,
  complex ones `{:c, 32 | 64 | 128}`. `{:bool, 8}` holds `true` or `false`. `{:f, 8}` has five bits of
  exponent; `{:f8_e4m3fn, 8}`, `{:f8_e5m2fnuz, 8}` and `{:f8_e4m3fnuz, 8}` are the others of eight bits.
  """

  # With the numbers of tenon's ScalarType, which the NIF takes.
  @numbers %{
    {:u, 8} => 0,
    {:s, 8} => 1,
    {:s, 16} => 2,
    {:s, 32} => 3,
    {:s, 64} => 4,
    {:f, 16} => 5,
    {:f, 32} => 6,
    {:f, 64} => 7,
    {:c, 32} => 8,
    {:c, 64} => 9,
    {:c, 128} => 10,
    {:bool, 8} => 11,
    {:bf, 16} => 15,
    {:f, 8} => 23,
    {:f8_e4m3fn, 8} => 24,
    {:f8_e5m2fnuz, 8} => 25,
    {:f8_e4m3fnuz, 8} => 26,
    {:u, 16} => 27,
    {:u, 32} => 28,
    {:u, 64} => 29
  }
  @types Map.new(@numbers, fn {type, number} -> {number, type} end)

  @type t :: {atom, pos_integer}

  @doc false
  def number!(type) when is_map_key(@numbers, type), do: @numbers[type]

  def number!(other) do
    raise ArgumentError,
          "the type is #{inspect(other)}; expected {:u | :s, 8 | 16 | 32 | 64}, " <>
            "{:f, 8 | 16 | 32 | 64}, {:bf, 16}, {:c, 32 | 64 | 128}, {:bool, 8} or " <>
            "{:f8_e4m3fn | :f8_e5m2fnuz | :f8_e4m3fnuz, 8}"
  end

  @doc false
  def of(number), do: Map.fetch!(@types, number)

  @doc """
  How many bytes an element has.

      iex> Tenon.Type.bytes({:c, 64})
      8
      iex> Tenon.Type.bytes(:float)
      ** (ArgumentError) the type is :float; expected {:u | :s, 8 | 16 | 32 | 64}, {:f, 8 | 16 | 32 | 64}, {:bf, 16}, {:c, 32 | 64 | 128}, {:bool, 8} or {:f8_e4m3fn | :f8_e5m2fnuz | :f8_e4m3fnuz, 8}
  """
  @spec bytes(t) :: pos_integer
  def bytes({_, bits} = type) do
    number!(type)
    div(bits, 8)
  end

  def bytes(other), do: number!(other)
end
