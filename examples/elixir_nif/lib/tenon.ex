# SPDX-License-Identifier: MIT
defmodule Tenon do
  @moduledoc """
  Tensors of the C++ library tenon, over a NIF.

  A tensor never changes. Its memory is released when the last that uses it is collected: its term, a
  binary or a tensor over the same memory; or earlier, by `backend_deallocate/1`.

  Creators take these options:

    * `:type` - `{:s, 64}` unless they say otherwise
    * `:names` - a list of atoms, `nil` for a dimension without a name
    * `:backend` - a module, or a module with its options; `default_backend/0` unless given

  What cannot be taken is an `ArgumentError`; where memory or the system is short it is a
  `RuntimeError`.

      iex> Tenon.iota({2, -1})
      ** (ArgumentError) iota: size -1 of dimension 1 is negative in sizes {2, -1}
  """

  alias Tenon.Tensor

  @type backend :: module | {module, keyword}

  @doc """
  A tensor of one value.

      iex> Tenon.constant(1.5, {2}, type: {:f, 32}) |> Tenon.to_flat_list()
      [1.5, 1.5]
      iex> Tenon.constant({1, -2}, {}, type: {:c, 64}) |> Tenon.to_flat_list()
      [{1.0, -2.0}]
      iex> Tenon.constant(300, {2}, type: {:u, 8})
      ** (ArgumentError) constant: the value 300 does not fit Byte
  """
  @spec constant(Tenon.Backend.value(), tuple, keyword) :: Tensor.t()
  def constant(value, shape, opts \\ []) do
    {out, backend, options, _} = target(shape, opts)
    backend.constant(out, value, options)
  end

  @doc """
  Ones on the diagonal, of a square of `n` rows or of any matrix.

      iex> Tenon.eye(2) |> Tenon.to_flat_list()
      [1, 0, 0, 1]
      iex> Tenon.eye({2, 3}, type: {:f, 32}) |> Tenon.to_flat_list()
      [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
  """
  @spec eye(non_neg_integer | tuple, keyword) :: Tensor.t()
  def eye(n_or_shape, opts \\ []) do
    shape = if is_integer(n_or_shape), do: {n_or_shape, n_or_shape}, else: n_or_shape
    {out, backend, options, _} = target(shape, opts)
    backend.eye(out, options)
  end

  @doc """
  Each element's row-major index, or with `:axis`, a number or a name, its index along that.

      iex> Tenon.iota({2, 3}) |> Tenon.to_flat_list()
      [0, 1, 2, 3, 4, 5]
      iex> Tenon.iota({2, 3}, axis: :row, names: [:row, nil]) |> Tenon.to_flat_list()
      [0, 0, 0, 1, 1, 1]
      iex> Tenon.iota({2, 3}, axis: -1, type: {:bf, 16}) |> Tenon.to_flat_list()
      [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]
  """
  @spec iota(tuple, keyword) :: Tensor.t()
  def iota(shape, opts \\ []) do
    {out, backend, options, rest} = target(shape, opts, [:axis])
    backend.iota(out, axis!(rest[:axis], out.names), options)
  end

  @doc """
  Numbers from `min` to below `max`; integers for a type of integers. `{:f, 32}` unless a type is
  given. With the option `:seed` of a backend they are the same each time, on every machine.

      iex> t = Tenon.random_uniform({100}, -1.0, 1.0)
      iex> Enum.all?(Tenon.to_flat_list(t), &(&1 >= -1.0 and &1 < 1.0))
      true
      iex> t = Tenon.random_uniform({3}, 0, 10, type: {:s, 64}, backend: {Tenon.CpuBackend, seed: 1})
      iex> t |> Tenon.to_flat_list() |> Enum.map(&(&1 in 0..9))
      [true, true, true]
  """
  @spec random_uniform(tuple, number, number, keyword) :: Tensor.t()
  def random_uniform(shape, min, max, opts \\ []) do
    {out, backend, options, _} = target(shape, Keyword.put_new(opts, :type, {:f, 32}))
    backend.random_uniform(out, min, max, options)
  end

  @doc """
  Numbers of a normal distribution with a mean and a standard deviation, `{:f, 32}` unless a type is
  given.

      iex> t = Tenon.random_normal({4}, 10.0, 0.0)
      iex> Tenon.to_flat_list(t)
      [10.0, 10.0, 10.0, 10.0]
  """
  @spec random_normal(tuple, number, number, keyword) :: Tensor.t()
  def random_normal(shape, mean, deviation, opts \\ []) do
    {out, backend, options, _} = target(shape, Keyword.put_new(opts, :type, {:f, 32}))
    backend.random_normal(out, mean, deviation, options)
  end

  @doc """
  A tensor of a binary's bytes: little-endian elements in row-major order, as many as the shape needs.
  On `Tenon.CpuBackend` it is the binary's own memory. The shape is that of a list unless `:shape` is
  given: as many elements as the binary has, of whole elements alone.

      iex> Tenon.from_binary(<<1.0::float-32-native, 2.0::float-32-native>>, {:f, 32})
      #Tenon.Tensor<
        f32[2]
        [1.0, 2.0]
      >
      iex> Tenon.from_binary(<<1, 2, 3, 4>>, {:u, 8}, shape: {2, 2}) |> Tenon.to_flat_list()
      [1, 2, 3, 4]
      iex> Tenon.from_binary(<<1, 2, 3>>, {:u, 16}, shape: {2})
      ** (ArgumentError) from_binary: 3 bytes were given, sizes {2} of UInt16 need 4

      iex> Tenon.from_binary(<<1, 2, 3>>, {:u, 16})
      ** (ArgumentError) from_binary: 3 bytes were given, expected a multiple of 2, the size of an element of {:u, 16}
  """
  @spec from_binary(binary, Tenon.Type.t(), keyword) :: Tensor.t()
  def from_binary(binary, type, opts \\ []) do
    {shape, opts} = Keyword.pop_lazy(opts, :shape, fn -> {elements!(binary, type)} end)
    {out, backend, options, _} = target(shape, Keyword.put(opts, :type, type))
    backend.from_binary(out, binary, options)
  end

  @doc """
  A tensor without elements, for what is expected of one.

      iex> t = Tenon.template({8, 3}, {:f, 32}, names: [:batch, nil])
      iex> {t.shape, t.names}
      {{8, 3}, [:batch, nil]}
  """
  @spec template(tuple, Tenon.Type.t(), keyword) :: Tensor.t()
  def template(shape, type, opts \\ []) do
    constant(0, shape, [type: type, backend: Tenon.TemplateBackend] ++ opts)
  end

  @doc """
  The bytes of the elements in row-major order, or with `:limit` those of the first. More than 64 of
  a tensor whose elements lie one after the other are its own memory, which the binary keeps.

      iex> Tenon.iota({3}, type: {:u, 16}) |> Tenon.to_binary()
      <<0, 0, 1, 0, 2, 0>>
      iex> Tenon.iota({3}, type: {:u, 16}) |> Tenon.to_binary(limit: 1)
      <<0, 0>>
      iex> Tenon.iota({3}) |> Tenon.to_binary(limit: -1)
      ** (ArgumentError) the limit is -1; expected an integer from 0 on
  """
  @spec to_binary(Tensor.t(), keyword) :: binary
  def to_binary(tensor, opts \\ []) do
    backend_of!(tensor).to_binary(tensor, limit!(tensor, opts))
  end

  @doc """
  The elements as a list, or with `:limit` the first. Those that no float of Elixir's is are `:nan`,
  `:infinity` and `:neg_infinity`.

      iex> Tenon.constant(:infinity, {2}, type: {:f, 16}) |> Tenon.to_flat_list(limit: 1)
      [:infinity]
      iex> Tenon.constant(true, {2}, type: {:bool, 8}) |> Tenon.to_flat_list()
      [true, true]
  """
  @spec to_flat_list(Tensor.t(), keyword) :: [Tenon.Backend.value()]
  def to_flat_list(tensor, opts \\ []) do
    backend = backend_of!(tensor)
    limit = limit!(tensor, opts)

    if Tenon.Backend.native?(backend) do
      Tenon.Native.to_flat_list(tensor.data.ref, limit)
    else
      bytes = backend.to_binary(tensor, limit)
      from_binary(bytes, tensor.type, backend: Tenon.CpuBackend) |> to_flat_list()
    end
  end

  @doc """
  How many elements a tensor has.

      iex> Tenon.size(Tenon.iota({2, 3}))
      6
  """
  @spec size(Tensor.t()) :: non_neg_integer
  def size(%Tensor{shape: shape}), do: Tuple.product(shape)

  @doc """
  A copy in the memory of a backend. The tensor stays as it is.

      iex> tracker = Tenon.TrackingBackend.init([])
      iex> t = Tenon.iota({4}, type: {:s, 32})
      iex> copy = Tenon.backend_copy(t, {Tenon.TrackingBackend, tracker})
      iex> {Tenon.to_flat_list(copy), Tenon.TrackingBackend.statistics(tracker).live_bytes}
      {[0, 1, 2, 3], 16}
      iex> Tenon.to_flat_list(t)
      [0, 1, 2, 3]
  """
  @spec backend_copy(Tensor.t(), backend) :: Tensor.t()
  def backend_copy(tensor, backend \\ Tenon.CpuBackend) do
    {module, options} = backend!(backend)
    backend_of!(tensor).backend_copy(tensor, module, options)
  end

  @doc """
  Moves a tensor to a backend: a copy there, after which the tensor is deallocated. When it is there
  already, it is the tensor itself.

      iex> t = Tenon.iota({4})
      iex> moved = Tenon.backend_transfer(t, {Tenon.ArenaBackend, bytes: 1024})
      iex> Tenon.to_flat_list(moved)
      [0, 1, 2, 3]
      iex> Tenon.backend_transfer(Tenon.iota({2}), Tenon.CpuBackend) |> Tenon.to_flat_list()
      [0, 1]
      iex> Tenon.to_flat_list(t)
      ** (ArgumentError) to_flat_list: the tensor is deallocated
  """
  @spec backend_transfer(Tensor.t(), backend) :: Tensor.t()
  def backend_transfer(tensor, backend \\ Tenon.CpuBackend) do
    {module, options} = backend!(backend)
    backend_of!(tensor).backend_transfer(tensor, module, options)
  end

  @doc """
  Lets go of a tensor's memory, in all processes that have the tensor. What else uses the memory, such
  as a binary of `to_binary/2`, keeps it.

      iex> t = Tenon.iota({100}, type: {:u, 8})
      iex> binary = Tenon.to_binary(t)
      iex> {Tenon.backend_deallocate(t), Tenon.backend_deallocate(t)}
      {:ok, :already_deallocated}
      iex> :binary.last(binary)
      99
      iex> Tenon.to_binary(t)
      ** (ArgumentError) to_binary: the tensor is deallocated
  """
  @spec backend_deallocate(Tensor.t()) :: :ok | :already_deallocated
  def backend_deallocate(tensor), do: backend_of!(tensor).backend_deallocate(tensor)

  @doc """
  The backend of creators in this process that are given none.

      iex> Tenon.default_backend()
      {Tenon.CpuBackend, []}
  """
  @spec default_backend() :: {module, term}
  def default_backend, do: Process.get({__MODULE__, :backend}, {Tenon.CpuBackend, []})

  @doc """
  Sets it, and returns the one before it.

      iex> Tenon.default_backend(Tenon.ExprBackend)
      {Tenon.CpuBackend, []}
      iex> Tenon.eye(3) |> Map.fetch!(:data) |> Map.fetch!(:__struct__)
      Tenon.ExprBackend
      iex> Tenon.default_backend({Tenon.CpuBackend, seed: 3})
      {Tenon.ExprBackend, []}
  """
  @spec default_backend(backend) :: {module, term}
  def default_backend(backend) do
    before = default_backend()
    Process.put({__MODULE__, :backend}, backend!(backend))
    before
  end

  @doc """
  The module of a backend, and the options that its callbacks take.

      iex> Tenon.backend!(Tenon.CpuBackend)
      {Tenon.CpuBackend, []}
      iex> Tenon.backend!(String)
      ** (ArgumentError) the backend is String; expected a module of the behaviour Tenon.Backend, or {module, options}
  """
  @spec backend!(backend) :: {module, term}
  def backend!(module) when is_atom(module), do: backend!({module, []})

  def backend!({module, options} = backend) when is_atom(module) and is_list(options) do
    if Code.ensure_loaded?(module) and function_exported?(module, :backend_transfer, 3) do
      {module, module.init(options)}
    else
      no_backend!(if options == [], do: module, else: backend)
    end
  end

  def backend!(other), do: no_backend!(other)

  defp no_backend!(given) do
    raise ArgumentError,
          "the backend is #{inspect(given)}; expected a module of the behaviour Tenon.Backend, " <>
            "or {module, options}"
  end

  # The tensor to be made, and where.
  defp target(shape, opts, more \\ []) do
    opts = Keyword.validate!(opts, [:backend, :names, type: {:s, 64}] ++ more)
    {backend, options} = if opts[:backend], do: backend!(opts[:backend]), else: default_backend()
    out = %Tensor{type: opts[:type], shape: shape, names: names!(opts[:names], shape)}
    {out, backend, options, opts}
  end

  defp names!(nil, shape) when is_tuple(shape), do: List.duplicate(nil, tuple_size(shape))

  defp names!(names, shape) when is_tuple(shape) do
    if is_list(names) and List.improper?(names) == false and length(names) == tuple_size(shape) and
         Enum.all?(names, &is_atom/1) do
      names
    else
      raise ArgumentError,
            "the names are #{inspect(names)}; expected an atom or nil for each dimension of " <>
              inspect(shape)
    end
  end

  defp names!(_, shape) do
    raise ArgumentError, "the shape is #{inspect(shape)}; expected a tuple of integers"
  end

  defp axis!(axis, names) when is_atom(axis) and axis != nil do
    Enum.find_index(names, &(&1 == axis)) ||
      raise ArgumentError, "the axis is #{inspect(axis)}; the names are #{inspect(names)}"
  end

  defp axis!(axis, _names), do: axis

  defp elements!(binary, type) when is_binary(binary) do
    bytes = Tenon.Type.bytes(type)

    if rem(byte_size(binary), bytes) != 0 do
      raise ArgumentError,
            "from_binary: #{byte_size(binary)} bytes were given, expected a multiple of #{bytes}, " <>
              "the size of an element of #{inspect(type)}"
    end

    div(byte_size(binary), bytes)
  end

  # Which the NIF refuses.
  defp elements!(_binary, _type), do: 0

  defp limit!(tensor, opts) do
    case Keyword.validate!(opts, [:limit])[:limit] do
      nil ->
        size(tensor)

      limit when is_integer(limit) and limit >= 0 ->
        min(limit, size(tensor))

      limit ->
        raise ArgumentError, "the limit is #{inspect(limit)}; expected an integer from 0 on"
    end
  end

  defp backend_of!(%Tensor{data: %module{}}), do: module

  defp backend_of!(other) do
    raise ArgumentError, "the tensor is #{inspect(other)}; expected a Tenon.Tensor"
  end
end
