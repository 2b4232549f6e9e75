# SPDX-License-Identifier: MIT
defmodule Tenon.Backend do
  @moduledoc """
  What a backend does: where the elements of tensors are, how they get there and back.

  The callbacks have the names, the arguments and the results of those of `Nx.Backend`. `out` is a
  tensor without `data`, which has the type, the shape and the names of the one to be made. The last
  argument, the options, are what `c:init/1` made of those that the user wrote: a backend is given as
  a module, or as a module with options, `{Tenon.ArenaBackend, bytes: 4096}`.

  | module | elements are in |
  |---|---|
  | `Tenon.CpuBackend` | the heap, or a binary |
  | `Tenon.ArenaBackend` | one block of memory |
  | `Tenon.TrackingBackend` | the memory of another backend, and are counted |
  | `Tenon.TemplateBackend` | nowhere |
  | `Tenon.ExprBackend` | nowhere: how they are made is recorded |

  A backend may be written in Elixir alone. Ours copy to it by its `c:from_binary/3`.

  `use Tenon.Backend` defines all callbacks but `c:init/1` by the NIF, for a module that has
  `handle/1`: the NIF's handle of a backend, from the options.
  """

  alias Tenon.Tensor

  @type options :: term
  @typedoc "`{real, imaginary}` for a complex one; `:nan`, `:infinity` and `:neg_infinity` too."
  @type value :: number | boolean | atom | {number, number}

  @doc "Checks the options, and makes those that the other callbacks take. Its own result stays as it is."
  @callback init(keyword) :: options

  @doc "A tensor of one value."
  @callback constant(out :: Tensor.t(), value, options) :: Tensor.t()
  @doc "Ones on the diagonal of a matrix, zeros elsewhere."
  @callback eye(out :: Tensor.t(), options) :: Tensor.t()
  @doc "The index of each element along an axis, or its row-major index for `nil`."
  @callback iota(out :: Tensor.t(), axis :: integer | nil, options) :: Tensor.t()
  @doc "Numbers from `min` to below `max`, each as probable as any other."
  @callback random_uniform(out :: Tensor.t(), min :: value, max :: value, options) :: Tensor.t()
  @doc "Numbers of a normal distribution with a mean and a standard deviation."
  @callback random_normal(out :: Tensor.t(), mean :: value, deviation :: value, options) ::
              Tensor.t()
  @doc "A tensor of the bytes of its elements, in row-major order."
  @callback from_binary(out :: Tensor.t(), binary, options) :: Tensor.t()

  @doc "The bytes of the first `limit` elements, in row-major order."
  @callback to_binary(Tensor.t(), limit :: non_neg_integer) :: binary
  @doc "What `inspect/2` shows of the elements."
  @callback inspect(Tensor.t(), Inspect.Opts.t()) :: Inspect.Algebra.t()

  @doc "A copy in the memory of another backend."
  @callback backend_copy(Tensor.t(), module, options) :: Tensor.t()
  @doc "The same, after which the source is deallocated; the source itself when it is there already."
  @callback backend_transfer(Tensor.t(), module, options) :: Tensor.t()
  @doc "Lets go of the tensor's memory. Every later use of its elements is an `ArgumentError`."
  @callback backend_deallocate(Tensor.t()) :: :ok | :already_deallocated

  defmacro __using__(_) do
    quote do
      @behaviour Tenon.Backend
      import Kernel, except: [inspect: 2]
      alias Tenon.{Backend, Native}

      @enforce_keys [:ref]
      defstruct [:ref]

      @impl true
      def constant(out, value, options), do: make(:constant, out, [value], options)

      @impl true
      def eye(out, options), do: make(:eye, out, [], options)

      @impl true
      def iota(out, axis, options), do: make(:iota, out, [axis], options)

      @impl true
      def random_uniform(out, min, max, options),
        do: make(:random_uniform, out, [min, max, Backend.seed(options)], options)

      @impl true
      def random_normal(out, mean, deviation, options),
        do: make(:random_normal, out, [mean, deviation, Backend.seed(options)], options)

      @impl true
      def from_binary(out, binary, options), do: make(:from_binary, out, [binary], options)

      @impl true
      def to_binary(tensor, limit), do: Native.to_binary(tensor.data.ref, limit)

      @impl true
      def inspect(tensor, opts), do: Backend.inspect_elements(tensor, opts)

      @impl true
      def backend_copy(tensor, backend, options) do
        if Backend.native?(backend) do
          ref = Native.backend_copy(tensor.data.ref, backend.handle(options))
          %{tensor | data: struct!(backend, ref: ref)}
        else
          backend.from_binary(tensor, to_binary(tensor, Tenon.size(tensor)), options)
        end
      end

      @impl true
      def backend_transfer(tensor, backend, options) do
        if Backend.native?(backend) and
             Native.lives_in(tensor.data.ref, backend.handle(options)) do
          tensor
        else
          copy = backend_copy(tensor, backend, options)
          backend_deallocate(tensor)
          copy
        end
      end

      @impl true
      def backend_deallocate(tensor), do: Native.backend_deallocate(tensor.data.ref)

      defp make(function, out, arguments, options) do
        shape = Tuple.to_list(out.shape)
        arguments = [handle(options), Tenon.Type.number!(out.type), shape | arguments]
        %{out | data: %__MODULE__{ref: apply(Native, function, arguments)}}
      end

      defoverridable inspect: 2
    end
  end

  # Whether the NIF makes its tensors.
  @doc false
  def native?(module), do: Code.ensure_loaded?(module) and function_exported?(module, :handle, 1)

  # The handle of a backend, which has to be one of the NIF's.
  @doc false
  def handle!(backend) do
    {module, options} = Tenon.backend!(backend)

    if not native?(module) do
      raise ArgumentError, "the backend is #{inspect(module)}; expected one with a handle/1"
    end

    {module, module.handle(options)}
  end

  # Of the numbers that are drawn: the option, or else one that the process's own generator draws.
  @doc false
  def seed(options) do
    options[:seed] || :rand.uniform(0x10000000000000000) - 1
  end

  @doc """
  The elements as a document, for `c:inspect/2`: at most as many as `opts.limit` says, then `...`.

      iex> inspect(Tenon.iota({2, 3}), limit: 4)
      "#Tenon.Tensor<\\n  s64[2][3]\\n  [\\n    [0, 1, 2],\\n    [3, ...]\\n  ]\\n>"
  """
  @spec inspect_elements(Tensor.t(), Inspect.Opts.t()) :: Inspect.Algebra.t()
  def inspect_elements(tensor, opts) do
    size = Tenon.size(tensor)
    # Numbers are less than :infinity. One more than all shows them without dots.
    limit = min(opts.limit, size + 1)
    values = Tenon.Native.to_flat_list(tensor.data.ref, limit)
    # Without elements there may be any number of rows.
    shape = if size == 0, do: [0], else: Tuple.to_list(tensor.shape)
    {document, _values, _limit} = element(shape, values, limit)
    document
  end

  defp element(_shape, _values, 0), do: {"...", [], 0}
  defp element([], [value | values], limit), do: {text(value), values, limit - 1}

  defp element([size | shape], values, limit) do
    import Inspect.Algebra
    {documents, values, limit} = row(size, shape, values, limit, [])

    document =
      if shape == [] do
        concat(["[", concat(Enum.intersperse(documents, ", ")), "]"])
      else
        rows = concat(Enum.intersperse(documents, concat(",", line())))
        concat([nest(concat(["[", line(), rows]), 2), line(), "]"])
      end

    {document, values, limit}
  end

  defp row(0, _shape, values, limit, done), do: {Enum.reverse(done), values, limit}
  defp row(_size, _shape, values, 0, done), do: {Enum.reverse(["..." | done]), values, 0}

  defp row(size, shape, values, limit, done) do
    {document, values, limit} = element(shape, values, limit)
    row(size - 1, shape, values, limit, [document | done])
  end

  defp text(:nan), do: "NaN"
  defp text(:infinity), do: "Inf"
  defp text(:neg_infinity), do: "-Inf"
  defp text({real, imaginary}), do: "#{text(real)} + #{text(imaginary)}i"
  defp text(value), do: to_string(value)
end
