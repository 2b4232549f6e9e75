# SPDX-License-Identifier: MIT
defmodule Tenon.BlobTest do
  use ExUnit.Case, async: true
  import Tenon.Values
  alias Tenon.Blob

  test "a blob of each type goes there and back with the same address and elements" do
    for {type, bytes} <- all() do
      count = div(byte_size(bytes) * 8, elem(type, 1))
      t = Tenon.iota({count}, type: type)
      blob = Blob.to_blob(t)
      assert blob.dtype == type
      assert blob.element_size * 8 == elem(type, 1)
      view = Blob.from_blob(blob)
      assert view.type == type
      assert Tenon.to_binary(view) == bytes, inspect(type)
      assert Blob.to_blob(view).ptr == blob.ptr
    end
  end

  test "the struct says the shape, the strides, the device and the owner" do
    t = Tenon.iota({2, 3, 4}, type: {:f, 64})
    blob = Blob.to_blob(t)
    assert %Blob{shape: {2, 3, 4}, strides: [12, 4, 1], dtype: {:f, 64}, device: :cpu} = blob
    assert blob.element_size == 8
    assert blob.owner == t
    assert is_integer(blob.ptr) and rem(blob.ptr, 8) == 0
    assert %Blob{shape: {}, strides: []} = Blob.to_blob(Tenon.constant(1, {}))
    assert %Blob{shape: {0, 2}} = Blob.to_blob(Tenon.constant(1, {0, 2}))
  end

  test "strides may be negative, zero, and with gaps" do
    t = Tenon.iota({6}, type: {:s, 32})
    blob = Blob.to_blob(t)
    reversed = Blob.from_blob(%{blob | ptr: blob.ptr + 20, strides: [-1]})
    assert Tenon.to_flat_list(reversed) == [5, 4, 3, 2, 1, 0]
    assert Tenon.to_binary(reversed, limit: 2) == <<5::little-32, 4::little-32>>
    repeated = Blob.from_blob(%{blob | shape: {2, 3}, strides: [0, 2]})
    assert Tenon.to_flat_list(repeated) == [0, 2, 4, 0, 2, 4]
  end

  test "a map will do, with lists for tuples, and without what follows from the rest" do
    t = Tenon.iota({2, 2}, type: {:u, 8})
    %{ptr: ptr} = Blob.to_blob(t)
    view = Blob.from_blob(%{ptr: ptr, shape: [2, 2], strides: {1, 2}, dtype: {:u, 8}}, owner: t)
    assert view.shape == {2, 2}
    assert Tenon.to_flat_list(view) == [0, 2, 1, 3]
  end

  test "memory that is not inside of its owner, a tensor or a binary, is refused" do
    t = Tenon.iota({10}, type: {:s, 32})
    blob = Blob.to_blob(t)
    binary = :binary.copy(<<1>>, 100)
    of_binary = Blob.to_blob(binary)

    for wrong <- [
          %{blob | shape: {11}},
          %{blob | ptr: blob.ptr + 4},
          %{blob | ptr: blob.ptr - 4},
          %{blob | strides: [-1]},
          %{blob | strides: [2]},
          %{blob | dtype: {:s, 64}, element_size: 8},
          %{blob | ptr: 8},
          %{blob | ptr: 0xFFFFFFFFFFFFFFF8},
          %{blob | owner: binary},
          %{blob | owner: "a name"},
          %{of_binary | shape: {101}},
          %{of_binary | owner: t},
          %{of_binary | ptr: of_binary.ptr + 1},
          %{blob | shape: {4_611_686_018_427_387_904}, strides: [0x7FFFFFFFFFFFFFFF]}
        ] do
      assert_raise ArgumentError, ~r/^from_blob: /, fn -> Blob.from_blob(wrong) end
    end

    # The same bytes as another type are inside.
    assert Blob.from_blob(%{blob | dtype: {:u, 8}, shape: {40}, element_size: 1})
           |> Tenon.to_flat_list(limit: 5) == [0, 0, 0, 0, 1]
  end

  test "a tensor that is none of this node's, or is collected, is no owner" do
    external = fn -> Tenon.iota({1000}) |> Blob.to_blob() |> :erlang.term_to_binary() end
    gone = Task.await(Task.async(external)) |> :erlang.binary_to_term()

    assert_raise ArgumentError, ~r/expected a tensor of tenon's/, fn -> Blob.from_blob(gone) end

    # While it lives the term is the tensor again.
    t = Tenon.iota({3})
    again = t |> Blob.to_blob() |> :erlang.term_to_binary() |> :erlang.binary_to_term()
    assert Tenon.to_flat_list(Blob.from_blob(again)) == [0, 1, 2]
  end

  test "of several owners, the backend is that of the one whose memory it is" do
    t = Tenon.iota({3})
    blob = Blob.to_blob(t)
    in_elixir = %{t | data: %URI{}}

    for other <- [
          Tenon.iota({3}, backend: Tenon.ExprBackend),
          Tenon.iota({3}, backend: {Tenon.ArenaBackend, bytes: 4096}),
          Tenon.template({3}, {:f, 32}),
          in_elixir
        ] do
      view = Blob.from_blob(%{blob | owner: other}, owner: t)
      assert view.data.__struct__ == Tenon.CpuBackend
      assert inspect(view) =~ "[0, 1, 2]"
    end

    empty = %{ptr: 0, shape: {0}, dtype: {:f, 32}, owner: Tenon.template({3}, {:f, 32})}
    assert Blob.from_blob(empty).data.__struct__ == Tenon.CpuBackend
  end

  test "an owner may be any term, and lives as long as the view" do
    tracker = Tenon.TrackingBackend.init([])
    live = fn -> Tenon.TrackingBackend.statistics(tracker).live_bytes end

    view =
      Task.await(
        Task.async(fn ->
          t = Tenon.iota({1000}, type: {:s, 32}, backend: {Tenon.TrackingBackend, tracker})
          blob = Blob.to_blob(t)
          # A tensor inside of a term that is no tensor: the pointer is trusted.
          Blob.from_blob(%{blob | owner: nil}, owner: {:kept, %{deep: [t]}, "text"})
        end)
      )

    :erlang.garbage_collect()
    assert live.() == 4000
    assert Tenon.to_flat_list(view, limit: 3) == [0, 1, 2]
    # Of memory that only its owner's word is for, a binary is a copy.
    assert Blob.to_blob(Tenon.to_binary(view)).ptr != Blob.to_blob(view).ptr
    assert Tenon.backend_deallocate(view) == :ok
    assert eventually(fn -> :erlang.garbage_collect() && live.() == 0 end)
  end

  test "both owners are kept: the blob's and the one that is given" do
    tracker = Tenon.TrackingBackend.init([])
    on_tracker = {Tenon.TrackingBackend, tracker}
    live = fn -> Tenon.TrackingBackend.statistics(tracker).live_count end

    view =
      Task.await(
        Task.async(fn ->
          blob = Blob.to_blob(Tenon.iota({100}, backend: on_tracker))
          Blob.from_blob(blob, owner: [Tenon.iota({100}, backend: on_tracker)])
        end)
      )

    :erlang.garbage_collect()
    assert live.() == 2
    assert view.data.__struct__ == Tenon.TrackingBackend
    Tenon.backend_deallocate(view)
    assert eventually(fn -> :erlang.garbage_collect() && live.() == 0 end)
  end

  test "a view keeps the memory of a tensor that is deallocated" do
    t = Tenon.iota({1000}, type: {:s, 16})
    view = Blob.from_blob(Blob.to_blob(t))
    assert Tenon.backend_deallocate(t) == :ok
    assert Tenon.to_flat_list(view, limit: 3) == [0, 1, 2]
    assert_raise ArgumentError, "to_blob: the tensor is deallocated", fn -> Blob.to_blob(t) end
  end

  test "a long chain of owners is released without a deep stack" do
    t = Tenon.iota({10})
    blob = Blob.to_blob(t)

    {pid, monitor} =
      spawn_monitor(fn ->
        Enum.reduce(1..100_000, t, fn i, last -> Blob.from_blob(%{blob | owner: {i, last}}) end)
      end)

    assert_receive {:DOWN, ^monitor, :process, ^pid, :normal}, 30_000
    assert Tenon.to_flat_list(t, limit: 1) == [0]
  end

  test "what has no memory, or memory that moves, has no blob" do
    for t <- [Tenon.template({2}, {:f, 32}), Tenon.iota({2}, backend: Tenon.ExprBackend)] do
      assert_raise ArgumentError, "to_blob: the tensor has no memory", fn ->
        Blob.to_blob(t)
      end
    end

    assert_raise ArgumentError, ~r/the bytes may move/, fn -> Blob.to_blob(<<1, 2, 3>>) end

    assert_raise ArgumentError, ~r/expected a Tenon.Tensor or a binary/, fn ->
      Blob.to_blob(<<1::3>>)
    end
  end
end
