# SPDX-License-Identifier: MIT
defmodule Tenon.CpuBackend do
  @moduledoc """
  Elements on the heap, or in a binary: `c:Tenon.Backend.from_binary/3` shares its bytes where they are
  aligned for the type, and copies them where they are not.

  Options: `:seed`, of the random numbers that are made with it.

      iex> a = Tenon.random_uniform({4}, 0.0, 1.0, backend: {Tenon.CpuBackend, seed: 7})
      iex> b = Tenon.random_uniform({4}, 0.0, 1.0, backend: {Tenon.CpuBackend, seed: 7})
      iex> Tenon.to_binary(a) == Tenon.to_binary(b)
      true

      iex> Tenon.CpuBackend.init(device: 1)
      ** (ArgumentError) unknown keys [:device] in [device: 1], the allowed keys are: [:seed]
  """
  use Tenon.Backend

  @impl true
  def init(options), do: Keyword.validate!(options, [:seed])

  @doc false
  def handle(_options), do: :cpu
end

defmodule Tenon.ArenaBackend do
  @moduledoc """
  Elements in one block of memory, which is allocated once and released with the last tensor in it.
  Where there is no room that is a `RuntimeError`, and nothing is changed.

  Options: `:bytes`, the size of a new arena, or `:arena`, one that `init/1` has made; `:seed`.

      iex> arena = Tenon.ArenaBackend.init(bytes: 4096)
      iex> t = Tenon.constant(1.0, {16}, type: {:f, 32}, backend: {Tenon.ArenaBackend, arena})
      iex> Tenon.ArenaBackend.statistics(arena).used
      64
      iex> Tenon.backend_deallocate(t)
      :ok
      iex> Tenon.ArenaBackend.statistics(arena).used
      0
  """
  use Tenon.Backend

  @impl true
  def init(options) do
    options = Keyword.validate!(options, [:bytes, :arena, :seed])

    case Keyword.split(options, [:bytes, :arena]) do
      {[arena: _], _} ->
        options

      {[bytes: bytes], rest} ->
        [arena: Native.arena(bytes)] ++ rest

      {given, _} ->
        raise ArgumentError, "expected either :bytes or :arena, got: #{Kernel.inspect(given)}"
    end
  end

  @doc "Bytes that are not free, that never were free at once, and all: a map of `used`, `high_water`, `capacity`."
  @spec statistics(keyword) :: %{atom => non_neg_integer}
  def statistics(options) do
    [used, high_water, capacity] = Native.statistics(handle(options))
    %{used: used, high_water: high_water, capacity: capacity}
  end

  @doc false
  def handle(options), do: Keyword.fetch!(options, :arena)
end

defmodule Tenon.TrackingBackend do
  @moduledoc """
  Elements in the memory of another backend, and a count of it.

  Options: `:inner`, that backend, `Tenon.CpuBackend` by default; or `:tracker`, one that `init/1` has
  made; `:seed`.

      iex> tracker = Tenon.TrackingBackend.init(inner: {Tenon.ArenaBackend, bytes: 4096})
      iex> _t = Tenon.iota({10}, backend: {Tenon.TrackingBackend, tracker})
      iex> %{live_bytes: 80, live_count: 1, peak_bytes: 80} = Tenon.TrackingBackend.statistics(tracker)
      iex> Tenon.TrackingBackend.statistics(tracker).total_count
      1
  """
  use Tenon.Backend

  @impl true
  def init(options) do
    options = Keyword.validate!(options, [:inner, :tracker, :seed])

    case Keyword.split(options, [:inner, :tracker]) do
      {[tracker: _], _} ->
        options

      {given, rest} when length(given) < 2 ->
        {_, handle} = Backend.handle!(given[:inner] || Tenon.CpuBackend)
        [tracker: Native.tracking(handle)] ++ rest

      {given, _} ->
        raise ArgumentError, "expected either :inner or :tracker, got: #{Kernel.inspect(given)}"
    end
  end

  @doc """
  What tensors asked for and have not given back, in `live_bytes` and `live_count`; the most of it at
  one time, `peak_bytes`; all that was ever asked for, `total_bytes` and `total_count`. A map.
  """
  @spec statistics(keyword) :: %{atom => non_neg_integer}
  def statistics(options) do
    names = [:live_bytes, :peak_bytes, :total_bytes, :live_count, :total_count]
    Map.new(Enum.zip(names, Native.statistics(handle(options))))
  end

  @doc false
  def handle(options), do: Keyword.fetch!(options, :tracker)
end

defmodule Tenon.TemplateBackend do
  @moduledoc """
  No elements: a type, a shape and names, for what is expected of a tensor. `Tenon.template/3` makes
  one, and so does each creator. What needs elements is an `ArgumentError`.

      iex> Tenon.template({2, 3}, {:f, 32}, names: [:row, :column])
      #Tenon.Tensor<
        f32[row: 2][column: 3]
        Tenon.TemplateBackend
      >
      iex> Tenon.to_binary(Tenon.template({2, 3}, {:f, 32}))
      ** (ArgumentError) to_binary: the tensor is a meta tensor, Float {2, 3}, which has no data
  """
  use Tenon.Backend

  @impl true
  def init(options), do: Keyword.validate!(options, [:seed])

  @impl true
  def inspect(_tensor, _opts), do: "Tenon.TemplateBackend"

  @doc false
  def handle(_options), do: :template
end

defmodule Tenon.ExprBackend do
  @moduledoc """
  How elements are made, instead of elements: the creator and its arguments. They are computed when
  they are read, or copied to another backend.

      iex> e = Tenon.iota({1000, 1000}, axis: 1, backend: Tenon.ExprBackend)
      #Tenon.Tensor<
        s64[1000][1000]
        Iota(axis 1) Long {1000, 1000}
      >
      iex> Tenon.to_flat_list(e, limit: 3)
      [0, 1, 2]
      iex> Tenon.backend_copy(e, Tenon.CpuBackend) |> Tenon.to_flat_list(limit: 3)
      [0, 1, 2]
  """
  use Tenon.Backend

  @impl true
  def init(options), do: Keyword.validate!(options, [:seed])

  @impl true
  def inspect(tensor, _opts), do: Native.expression(tensor.data.ref)

  @doc """
  Repeats in a backend's memory what was recorded.

      iex> e = Tenon.constant(2.5, {3}, type: {:f, 64}, backend: Tenon.ExprBackend)
      iex> Tenon.ExprBackend.materialize(e, Tenon.CpuBackend) |> Tenon.to_flat_list()
      [2.5, 2.5, 2.5]
  """
  @spec materialize(Tenon.Tensor.t(), Tenon.backend()) :: Tenon.Tensor.t()
  def materialize(%Tenon.Tensor{data: %{ref: ref}} = tensor, backend) do
    {module, handle} = Backend.handle!(backend)
    %{tensor | data: struct!(module, ref: Native.materialize(ref, handle))}
  end

  @doc """
  The expression in the language of Graphviz.

      iex> e = Tenon.eye(2, backend: Tenon.ExprBackend)
      iex> Tenon.ExprBackend.to_dot(e) =~ "Eye Long {2, 2}"
      true
  """
  @spec to_dot(Tenon.Tensor.t()) :: String.t()
  def to_dot(%Tenon.Tensor{data: %{ref: ref}}), do: Native.to_dot(ref)

  @doc false
  def handle(_options), do: :expr
end
