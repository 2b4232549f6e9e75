# SPDX-License-Identifier: MIT
defmodule Tenon.Blob do
  @moduledoc """
  Memory with its shape and its owner, to pass between libraries in one BEAM.

    * `ptr` - the address of element 0, an integer
    * `shape` - a tuple
    * `strides` - a list, in elements, of any value; `nil` for contiguous memory
    * `dtype` - the type of the elements, such as `{:f, 32}`
    * `device` - `:cpu`, the only one that this library knows
    * `element_size` - in bytes; `nil` for that of the `dtype`
    * `owner` - what keeps the memory: a tensor, a binary, or any term

  Nothing is copied in either direction.

      iex> t = Tenon.iota({2, 3}, type: {:s, 32})
      iex> blob = Tenon.Blob.to_blob(t)
      iex> {blob.shape, blob.strides, blob.dtype, blob.device, blob.element_size}
      {{2, 3}, [3, 1], {:s, 32}, :cpu, 4}
      iex> transposed = Tenon.Blob.from_blob(%{blob | shape: {3, 2}, strides: [1, 3]})
      iex> Tenon.to_flat_list(transposed)
      [0, 3, 1, 4, 2, 5]
      iex> Tenon.Blob.to_blob(transposed).ptr == blob.ptr
      true

  The memory may be written to by whoever has the pointer. If that is done, a tensor over it changes,
  and so does a binary that `Tenon.to_binary/2` made of one, which the BEAM does not expect of a
  binary: do not write to the memory of `to_blob/1`.
  """

  alias Tenon.{Native, Tensor}

  @type t :: %__MODULE__{
          ptr: non_neg_integer,
          shape: tuple,
          strides: [integer] | nil,
          dtype: Tenon.Type.t(),
          device: :cpu,
          element_size: pos_integer | nil,
          owner: term
        }

  defstruct [:ptr, :shape, :strides, :dtype, :element_size, :owner, device: :cpu]

  @doc """
  Describes the memory of a tensor, or of a binary of more than 64 bytes, which is its owner.

  A tensor without memory, a meta tensor or an expression, is an `ArgumentError`, as is a binary whose
  bytes may move: a shorter one, which is in its process's memory, and one that begins within a byte.

      iex> binary = :binary.copy(<<7>>, 100)
      iex> blob = Tenon.Blob.to_blob(binary)
      iex> {blob.shape, blob.dtype, blob.owner == binary}
      {{100}, {:u, 8}, true}
      iex> Tenon.Blob.to_blob(Tenon.from_binary(binary, {:u, 8})).ptr == blob.ptr
      true
      iex> Tenon.Blob.to_blob(:none)
      ** (ArgumentError) to_blob: expected a Tenon.Tensor or a binary, got: :none
  """
  @spec to_blob(Tensor.t() | binary) :: t
  def to_blob(%Tensor{data: %{ref: ref}} = tensor), do: describe(Native.to_blob(ref), tensor)
  def to_blob(binary) when is_binary(binary), do: describe(Native.to_blob(binary), binary)

  def to_blob(other) do
    raise ArgumentError,
          "to_blob: expected a Tenon.Tensor or a binary, got: #{inspect(other)}"
  end

  @doc """
  A tensor over memory that is described by a blob, or by a map with at least `:ptr`, `:shape` and
  `:dtype`. It keeps the blob's owner, and that of the option `:owner`, any term, as long as it
  lives. One of them has to be given.

  If an owner is a tensor or a binary, the memory has to be inside of it: anything else is an
  `ArgumentError`. If none is, **the pointer is trusted**: that it, the shape and the strides describe
  memory that the owner keeps, and that stays as it is, is the caller's word. A wrong one ends the
  BEAM, now or later, as in every NIF that takes an address.

      iex> t = Tenon.iota({6}, type: {:s, 16})
      iex> %{ptr: ptr} = Tenon.Blob.to_blob(t)
      iex> every_other = %{ptr: ptr, shape: {3}, strides: [2], dtype: {:s, 16}}
      iex> Tenon.Blob.from_blob(every_other, owner: t) |> Tenon.to_flat_list()
      [0, 2, 4]
      iex> Tenon.Blob.from_blob(every_other)
      ** (ArgumentError) from_blob: the blob has no owner, and none is given

  Four elements would be more than there are:

      iex> blob = Tenon.Blob.to_blob(Tenon.iota({6}, type: {:s, 16}))
      iex> Tenon.Blob.from_blob(%{blob | shape: {4}, strides: [2]})
      ** (ArgumentError) from_blob: the memory is not inside of the tensor or binary that is its owner; one that is kept for another reason is given in a tuple
  """
  @spec from_blob(t | map, keyword) :: Tensor.t()
  def from_blob(blob, opts \\ [])

  def from_blob(%{ptr: ptr, shape: shape, dtype: dtype} = blob, opts) do
    given = [Map.get(blob, :owner), Keyword.validate!(opts, [:owner])[:owner]]
    owners = for owner <- given, owner != nil, do: owner

    if owners == [] do
      raise ArgumentError, "from_blob: the blob has no owner, and none is given"
    end

    if Map.get(blob, :device, :cpu) != :cpu do
      raise ArgumentError, "from_blob: the device is #{inspect(blob.device)}; expected :cpu"
    end

    element_size = Map.get(blob, :element_size)

    if element_size not in [nil, Tenon.Type.bytes(dtype)] do
      raise ArgumentError,
            "from_blob: the element_size is #{inspect(element_size)}; expected " <>
              "#{Tenon.Type.bytes(dtype)} of #{inspect(dtype)}"
    end

    strides = list(Map.get(blob, :strides))
    shape = list(shape)
    number = Tenon.Type.number!(dtype)
    {tensors, others} = Enum.split_with(owners, &match?(%Tensor{data: %{ref: _}}, &1))
    refs = for tensor <- tensors, do: tensor.data.ref
    # `whose` is the ref of the tensor whose memory it is.
    {ref, whose} = Native.from_blob(ptr, shape, strides, number, refs, others)

    backend =
      Enum.find_value(tensors, Tenon.CpuBackend, fn %{data: %module{ref: ref}} ->
        if ref == whose, do: module
      end)

    %Tensor{
      type: dtype,
      shape: List.to_tuple(shape),
      names: List.duplicate(nil, length(shape)),
      data: struct!(backend, ref: ref)
    }
  end

  def from_blob(other, _opts) do
    raise ArgumentError,
          "from_blob: expected a blob with :ptr, :shape and :dtype, got: #{inspect(other)}"
  end

  defp describe({ptr, shape, strides, number}, owner) do
    dtype = Tenon.Type.of(number)

    %__MODULE__{
      ptr: ptr,
      shape: List.to_tuple(shape),
      strides: strides,
      dtype: dtype,
      element_size: Tenon.Type.bytes(dtype),
      owner: owner
    }
  end

  defp list(tuple) when is_tuple(tuple), do: Tuple.to_list(tuple)
  defp list(other), do: other
end
