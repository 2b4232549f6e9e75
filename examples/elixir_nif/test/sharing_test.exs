# SPDX-License-Identifier: MIT
defmodule Tenon.SharingTest do
  # The BEAM's counts of memory are of all processes.
  use ExUnit.Case, async: false
  alias Tenon.Blob

  @large 64 * 1024 * 1024

  # How much more memory of binaries there is after a function than before.
  defp binaries(fun) do
    :erlang.garbage_collect()
    before = :erlang.memory(:binary)
    result = fun.()
    {result, :erlang.memory(:binary) - before}
  end

  test "64 MiB of a tensor are a binary without a byte copied" do
    tracker = Tenon.TrackingBackend.init([])
    t = Tenon.iota({div(@large, 8)}, backend: {Tenon.TrackingBackend, tracker})
    {binary, more} = binaries(fn -> Tenon.to_binary(t) end)
    assert byte_size(binary) == @large
    assert Blob.to_blob(binary).ptr == Blob.to_blob(t).ptr
    assert abs(more) < 100_000
    assert %{live_bytes: @large, total_bytes: @large} = Tenon.TrackingBackend.statistics(tracker)
    assert binary_part(binary, @large - 8, 8) == <<div(@large, 8) - 1::little-64>>

    # The binary keeps the memory, and the last of its users releases it.
    Tenon.backend_deallocate(t)
    assert %{live_bytes: @large} = Tenon.TrackingBackend.statistics(tracker)
    assert :binary.last(binary) == 0
  end

  test "64 MiB of a binary are a tensor without a byte copied, and a binary again" do
    binary = :binary.copy(<<1, 2, 3, 4>>, div(@large, 4))
    {t, more} = binaries(fn -> Tenon.from_binary(binary, {:u, 32}, shape: {1024, 16384}) end)
    assert abs(more) < 100_000
    assert Blob.to_blob(t).ptr == Blob.to_blob(binary).ptr
    {again, more} = binaries(fn -> Tenon.to_binary(t) end)
    assert abs(more) < 100_000
    assert Blob.to_blob(again).ptr == Blob.to_blob(binary).ptr
    assert Tenon.to_flat_list(t, limit: 1) == [0x04030201]
    assert again == binary
  end

  test "a tensor keeps its binary after all who had it are gone" do
    t = Task.await(Task.async(fn -> Tenon.from_binary(:binary.copy("ab", 500_000), {:u, 16}) end))

    :erlang.garbage_collect()
    assert Tenon.to_binary(t) == :binary.copy("ab", 500_000)
  end

  test "other backends have memory of their own: from_binary copies to it" do
    tracker = Tenon.TrackingBackend.init([])
    binary = :binary.copy("x", 1000)
    t = Tenon.from_binary(binary, {:u, 8}, backend: {Tenon.TrackingBackend, tracker})
    assert %{live_bytes: 1000} = Tenon.TrackingBackend.statistics(tracker)
    assert Blob.to_blob(t).ptr != Blob.to_blob(binary).ptr
    assert Tenon.to_binary(t) == binary
  end

  test "a part of a binary is shared where it is aligned, and copied where it is not" do
    binary = :binary.list_to_bin(Enum.map(0..999, &rem(&1, 251)))
    even = binary_part(binary, 400, 400)
    t = Tenon.from_binary(even, {:u, 32})
    assert Blob.to_blob(t).ptr == Blob.to_blob(binary).ptr + 400
    assert Tenon.to_binary(t) == even
    odd = binary_part(binary, 401, 400)
    t = Tenon.from_binary(odd, {:u, 32})
    refute Blob.to_blob(t).ptr in Blob.to_blob(binary).ptr..(Blob.to_blob(binary).ptr + 1000)
    assert Tenon.to_binary(t) == odd
    assert Tenon.from_binary(odd, {:u, 8}) |> Tenon.to_binary() == odd
  end

  test "a binary that begins within a byte is copied" do
    # The BEAM shows a NIF a copy of it, which is gone after the call.
    make = fn n -> <<1::3, :binary.copy(<<n>>, 1000)::binary, 0::5>> end
    <<_::3, binary::binary-size(1000), _::5>> = make.(7)
    t = Tenon.from_binary(binary, {:u, 8})

    for n <- 1..50 do
      <<_::3, other::binary-size(1000), _::5>> = make.(n)
      Tenon.from_binary(other, {:u, 8}, backend: {Tenon.ArenaBackend, bytes: 2000})
    end

    assert Tenon.to_flat_list(t) == List.duplicate(7, 1000)
    assert Tenon.to_binary(t) == binary
    assert_raise ArgumentError, ~r/begins within a byte/, fn -> Blob.to_blob(binary) end
  end

  test "a binary that is appended to leaves the tensor as it was" do
    binary = for n <- 0..199, into: <<>>, do: <<n>>
    t = Tenon.from_binary(binary, {:u, 8})
    longer = for n <- 0..99, into: binary, do: <<n>>
    assert byte_size(longer) == 300
    assert Tenon.to_binary(t) == :binary.list_to_bin(Enum.to_list(0..199))
  end

  test "short binaries are copied, and right" do
    for n <- [0, 1, 7, 8, 63, 64, 65, 100] do
      bytes = :binary.list_to_bin(Enum.take(0..255, n))
      t = Tenon.from_binary(bytes, {:u, 8})
      :erlang.garbage_collect()
      assert t.shape == {n}
      assert Tenon.to_binary(t) == bytes
    end
  end

  test "the first elements of a tensor are shared too" do
    for t <- [
          Tenon.iota({1000}, type: {:u, 16}),
          Tenon.from_binary(Tenon.to_binary(Tenon.iota({1000}, type: {:u, 16})), {:u, 16})
        ] do
      part = Tenon.to_binary(t, limit: 100)
      assert part == for(n <- 0..99, into: <<>>, do: <<n::little-16>>)
      assert Blob.to_blob(part).ptr == Blob.to_blob(t).ptr
    end
  end

  test "a view of a part of a binary gives that part, which is the binary's" do
    binary = :binary.copy(<<0, 1, 2, 3>>, 100)
    blob = Blob.to_blob(binary)
    view = Blob.from_blob(%{blob | ptr: blob.ptr + 100, shape: {200}})
    part = Tenon.to_binary(view)
    assert part == binary_part(binary, 100, 200)
    assert Blob.to_blob(part).ptr == blob.ptr + 100
    again = Blob.from_blob(Blob.to_blob(view))
    assert Blob.to_blob(Tenon.to_binary(again)).ptr == blob.ptr + 100
  end

  test "elements that do not lie one after the other are copied in row-major order" do
    t = Tenon.iota({100, 100}, type: {:u, 16})
    transposed = Blob.from_blob(%{Blob.to_blob(t) | strides: [1, 100]})
    binary = Tenon.to_binary(transposed)
    assert binary == for(i <- 0..99, j <- 0..99, into: <<>>, do: <<100 * j + i::little-16>>)
    assert Tenon.to_binary(transposed, limit: 150) == binary_part(binary, 0, 300)
  end
end
