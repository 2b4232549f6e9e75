# SPDX-License-Identifier: MIT
defmodule Tenon.Tensor do
  @moduledoc """
  A tensor: its type, its shape, the names of its dimensions, and where its elements are.

  `data` is a struct of the backend's module, whose `ref` the NIF knows. The fields are to be read,
  not to be changed: what the NIF does follows from the `ref` alone.

      iex> t = Tenon.iota({2, 2}, type: {:u, 8}, names: [:row, nil])
      iex> {t.type, t.shape, t.names}
      {{:u, 8}, {2, 2}, [:row, nil]}

  It is printed as far as the limit of `inspect/2` goes.

      iex> Tenon.iota({2, 2}, names: [:row, nil])
      #Tenon.Tensor<
        s64[row: 2][2]
        [
          [0, 1],
          [2, 3]
        ]
      >
  """

  @type t :: %__MODULE__{data: struct, type: Tenon.Type.t(), shape: tuple, names: [atom]}

  @enforce_keys [:type, :shape, :names]
  defstruct [:data, :type, :shape, :names]
end

defimpl Inspect, for: Tenon.Tensor do
  import Inspect.Algebra

  def inspect(tensor, opts) do
    body = nest(concat([line(), header(tensor), line(), elements(tensor, opts)]), 2)
    concat(["#Tenon.Tensor<", body, line(), ">"])
  end

  defp header(%{type: {kind, bits}, shape: shape, names: names}) do
    sizes =
      for {size, name} <- Enum.zip(Tuple.to_list(shape), names) do
        if name == nil, do: "[#{size}]", else: "[#{name}: #{size}]"
      end

    Enum.join([kind, bits | sizes])
  end

  # The argument `out` of a backend's callbacks.
  defp elements(%{data: nil}, _opts), do: "no elements"

  # A tensor without elements, such as a deallocated one, says why.
  defp elements(%{data: %backend{}} = tensor, opts) do
    backend.inspect(tensor, opts)
  rescue
    error in [ArgumentError, RuntimeError] -> error.message
  end
end
