# SPDX-License-Identifier: MIT
defmodule Tenon.BackendTest do
  use ExUnit.Case, async: true
  import Tenon.Values

  defmodule ListBackend do
    # A backend in Elixir alone, of which ours know the behaviour.
    @behaviour Tenon.Backend
    import Kernel, except: [inspect: 2]
    defstruct [:bytes]
    def init(options), do: options

    def from_binary(out, binary, _),
      do: %{out | data: %__MODULE__{bytes: :binary.bin_to_list(binary)}}

    def to_binary(t, limit),
      do: t.data.bytes |> Enum.take(limit * bytes(t)) |> :binary.list_to_bin()

    def inspect(t, _), do: Kernel.inspect(t.data.bytes)
    def constant(_, _, _), do: raise("not supported")
    def eye(_, _), do: raise("not supported")
    def iota(_, _, _), do: raise("not supported")
    def random_uniform(_, _, _, _), do: raise("not supported")
    def random_normal(_, _, _, _), do: raise("not supported")

    def backend_copy(t, backend, options),
      do: backend.from_binary(t, to_binary(t, Tenon.size(t)), options)

    def backend_transfer(t, backend, options), do: backend_copy(t, backend, options)
    def backend_deallocate(_), do: :ok
    defp bytes(%{type: {_, bits}}), do: div(bits, 8)
  end

  defp with_memory do
    [
      Tenon.CpuBackend,
      {Tenon.ArenaBackend, Tenon.ArenaBackend.init(bytes: 1_000_000)},
      {Tenon.TrackingBackend, Tenon.TrackingBackend.init([])},
      {Tenon.TrackingBackend,
       Tenon.TrackingBackend.init(inner: {Tenon.ArenaBackend, bytes: 1_000_000})}
    ]
  end

  defp with_elements, do: with_memory() ++ [Tenon.ExprBackend]

  test "the creators make the same elements on each backend, in each type" do
    for backend <- with_elements(), {type, bytes} <- all() do
      count = div(byte_size(bytes) * 8, elem(type, 1))
      size = div(elem(type, 1), 8)
      opts = [type: type, backend: backend]
      one = binary_part(bytes, size, size)
      zero = binary_part(bytes, 0, size)
      assert Tenon.iota({count}, opts) |> Tenon.to_binary() == bytes, inspect(opts)
      assert Tenon.constant(1, {3}, opts) |> Tenon.to_binary() == one <> one <> one
      assert Tenon.eye(2, opts) |> Tenon.to_binary() == one <> zero <> zero <> one
      t = Tenon.from_binary(bytes, type, backend: backend, shape: {1, count})
      assert {t.shape, Tenon.to_binary(t)} == {{1, count}, bytes}
      assert Tenon.to_binary(t, limit: 1) == zero
      assert Tenon.to_binary(t, limit: 0) == ""
      assert Tenon.to_binary(t, limit: 100) == bytes
    end
  end

  test "the list of a tensor's elements is exact at the ends of each type" do
    for {type, ends} <- [
          {{:u, 8}, [0, 255]},
          {{:s, 8}, [-128, 127]},
          {{:u, 64}, [0, 18_446_744_073_709_551_615]},
          {{:s, 64}, [-9_223_372_036_854_775_808, 9_223_372_036_854_775_807]},
          {{:f, 16}, [-65504.0, 65504.0]},
          {{:f, 64}, [-1.7976931348623157e308, 5.0e-324]},
          {{:f, 32}, [:nan, :infinity]},
          {{:bf, 16}, [:neg_infinity, 1.0]},
          {{:c, 64}, [{1.0, -2.0}, {:nan, :infinity}]},
          {{:bool, 8}, [true, false]}
        ],
        value <- ends do
      assert Tenon.constant(value, {2}, type: type) |> Tenon.to_flat_list() == [value, value]
    end
  end

  test "iota counts along an axis, by number or by name" do
    for backend <- with_elements() do
      iota = fn opts -> Tenon.iota({2, 3}, [backend: backend] ++ opts) |> Tenon.to_flat_list() end
      assert iota.([]) == [0, 1, 2, 3, 4, 5]
      assert iota.(axis: 0) == [0, 0, 0, 1, 1, 1]
      assert iota.(axis: 1) == [0, 1, 2, 0, 1, 2]
      assert iota.(axis: -2) == [0, 0, 0, 1, 1, 1]
      assert iota.(axis: :y, names: [:x, :y]) == [0, 1, 2, 0, 1, 2]
      assert_raise ArgumentError, fn -> iota.(axis: 2) end
      assert_raise ArgumentError, fn -> iota.(axis: :z, names: [:x, :y]) end
    end
  end

  test "random numbers of a seed are the same on each backend, and within their bounds" do
    for {type, min, max} <- [
          {{:f, 32}, -1.0, 2.0},
          {{:s, 16}, -3, 4},
          {{:u, 64}, 0, 1000},
          {{:bf, 16}, 0, 1}
        ] do
      [first | others] =
        for backend <- with_elements() do
          {module, options} = Tenon.backend!(backend)

          Tenon.random_uniform({1000}, min, max,
            type: type,
            backend: {module, [seed: 42] ++ options}
          )
        end

      values = Tenon.to_flat_list(first)
      assert Enum.all?(values, &(&1 >= min and &1 < max))
      assert length(Enum.uniq(values)) > 5
      for t <- others, do: assert(Tenon.to_binary(t) == Tenon.to_binary(first))
    end

    a = Tenon.random_uniform({100}, 0.0, 1.0)
    b = Tenon.random_uniform({100}, 0.0, 1.0)
    assert Tenon.to_binary(a) != Tenon.to_binary(b)
  end

  test "normal numbers have the mean and the deviation that are asked for" do
    for backend <- with_elements() do
      values = Tenon.random_normal({10_000}, 5.0, 2.0, backend: backend) |> Tenon.to_flat_list()
      mean = Enum.sum(values) / 10_000
      variance = Enum.sum(Enum.map(values, &((&1 - mean) ** 2))) / 10_000
      assert_in_delta mean, 5.0, 0.15
      assert_in_delta :math.sqrt(variance), 2.0, 0.15
    end
  end

  test "backend_copy leaves the source, and copies between all backends" do
    for from <- with_elements(), to <- with_elements() do
      t = Tenon.iota({2, 3}, type: {:s, 16}, names: [:a, nil], backend: from)
      copy = Tenon.backend_copy(t, to)
      assert {copy.shape, copy.type, copy.names} == {{2, 3}, {:s, 16}, [:a, nil]}
      assert Tenon.to_flat_list(copy) == [0, 1, 2, 3, 4, 5]
      assert Tenon.to_flat_list(t) == [0, 1, 2, 3, 4, 5]
      {module, _} = Tenon.backend!(to)
      assert copy.data.__struct__ == module
    end
  end

  test "backend_transfer deallocates the source, unless it is there already" do
    for to <- with_elements() do
      t = Tenon.iota({4}, backend: {Tenon.ArenaBackend, bytes: 4096})
      moved = Tenon.backend_transfer(t, to)
      assert Tenon.to_flat_list(moved) == [0, 1, 2, 3]
      assert Tenon.backend_deallocate(t) == :already_deallocated
      assert Tenon.backend_transfer(moved, to) == moved
    end

    # Two arenas are two places.
    one = Tenon.ArenaBackend.init(bytes: 4096)
    t = Tenon.iota({4}, backend: {Tenon.ArenaBackend, one})
    assert Tenon.backend_transfer(t, {Tenon.ArenaBackend, one}) == t
    assert Tenon.backend_transfer(t, {Tenon.ArenaBackend, bytes: 4096}) != t
    assert Tenon.ArenaBackend.statistics(one).used == 0
  end

  test "backend_deallocate says :ok, then :already_deallocated, and the elements are gone" do
    for backend <- with_elements() ++ [Tenon.TemplateBackend] do
      t = Tenon.iota({4}, backend: backend)
      assert Tenon.backend_deallocate(t) == :ok
      assert Tenon.backend_deallocate(t) == :already_deallocated

      for use_it <- [
            &Tenon.to_binary/1,
            &Tenon.to_flat_list/1,
            &Tenon.backend_copy/1,
            &Tenon.backend_transfer/1,
            &Tenon.Blob.to_blob/1
          ] do
        assert_raise ArgumentError, ~r/: the tensor is deallocated$/, fn -> use_it.(t) end
      end

      assert t.shape == {4}
    end

    t = Tenon.iota({4})
    Tenon.backend_deallocate(t)
    assert inspect(t) =~ "the tensor is deallocated"
  end

  test "a tracker counts what its tensors ask for and give back" do
    tracker = Tenon.TrackingBackend.init([])
    statistics = fn -> Tenon.TrackingBackend.statistics(tracker) end
    a = Tenon.constant(1, {1000}, type: {:u, 8}, backend: {Tenon.TrackingBackend, tracker})
    b = Tenon.constant(1, {500}, type: {:u, 8}, backend: {Tenon.TrackingBackend, tracker})
    assert %{live_bytes: 1500, live_count: 2, peak_bytes: 1500} = statistics.()
    Tenon.backend_deallocate(a)
    assert %{live_bytes: 500, live_count: 1, total_bytes: 1500, total_count: 2} = statistics.()
    Tenon.backend_deallocate(b)
    assert %{live_bytes: 0, peak_bytes: 1500} = statistics.()
  end

  test "an arena that is full says how much is free, and goes on" do
    arena = Tenon.ArenaBackend.init(bytes: 4096)
    on_arena = {Tenon.ArenaBackend, arena}
    t = Tenon.iota({256}, backend: on_arena)

    assert_raise RuntimeError, ~r/^constant: .*bytes are free, 4096 are needed/, fn ->
      Tenon.constant(1, {512}, backend: on_arena)
    end

    assert %{used: 2048, capacity: capacity} = Tenon.ArenaBackend.statistics(arena)
    assert capacity < 4096
    Tenon.backend_deallocate(t)
    assert %{used: 0, high_water: 2048} = Tenon.ArenaBackend.statistics(arena)
  end

  test "an arena stays while a tensor, a view or a binary in it does" do
    binary =
      Task.await(
        Task.async(fn ->
          t = Tenon.iota({100}, type: {:u, 8}, backend: {Tenon.ArenaBackend, bytes: 4096})
          Tenon.to_binary(Tenon.Blob.from_blob(Tenon.Blob.to_blob(t)))
        end)
      )

    :erlang.garbage_collect()
    assert binary == :binary.list_to_bin(Enum.to_list(0..99))
  end

  test "a meta tensor has no elements, and creators make meta tensors" do
    for t <- [
          Tenon.template({2, 3}, {:f, 32}),
          Tenon.iota({2, 3}, backend: Tenon.TemplateBackend),
          Tenon.eye(2, backend: Tenon.TemplateBackend),
          Tenon.random_uniform({2}, 0.0, 1.0, backend: Tenon.TemplateBackend),
          Tenon.random_normal({2}, 0.0, 1.0, backend: Tenon.TemplateBackend)
        ] do
      assert_raise ArgumentError, ~r/is a meta tensor/, fn -> Tenon.to_binary(t) end
      assert_raise ArgumentError, ~r/is a meta tensor/, fn -> Tenon.to_flat_list(t) end
      assert_raise ArgumentError, ~r/meta tensor/, fn -> Tenon.backend_copy(t) end
      assert inspect(t) =~ "Tenon.TemplateBackend"
    end

    # A meta tensor of any size needs no memory.
    assert Tenon.template({1_000_000, 1_000_000}, {:f, 64}).shape == {1_000_000, 1_000_000}
  end

  test "an expression is recorded, shown, drawn and evaluated" do
    seeded = {Tenon.ExprBackend, seed: 5}
    e = Tenon.random_uniform({100}, 0.0, 2.0, backend: seeded)
    assert inspect(e) =~ "Uniform(0, 2) Float {100}"
    assert Tenon.ExprBackend.to_dot(e) =~ "seed 5, offset 0"
    made = Tenon.ExprBackend.materialize(e, Tenon.CpuBackend)
    assert made.data.__struct__ == Tenon.CpuBackend
    assert Tenon.to_binary(made) == Tenon.to_binary(e)
    assert Tenon.to_binary(Tenon.backend_copy(e)) == Tenon.to_binary(e)
    assert inspect(Tenon.constant(7, {2}, backend: Tenon.ExprBackend)) =~ "Constant(7) Long {2}"
    assert inspect(Tenon.backend_copy(e, Tenon.ExprBackend)) =~ "Uniform"
  end

  test "inspect shows as many elements as its limit says" do
    t = Tenon.iota({2, 3})
    assert inspect(t, limit: :infinity) =~ "[0, 1, 2],\n    [3, 4, 5]"
    assert inspect(t, limit: 6) =~ "[3, 4, 5]\n"
    assert inspect(t, limit: 5) =~ "[3, 4, ...]\n"
    assert inspect(t, limit: 3) =~ "[0, 1, 2],\n    ...\n"
    assert inspect(t, limit: 0) =~ "\n  ...\n"
    assert inspect(Tenon.iota({1000})) |> String.split(", ") |> length() == 51
    assert inspect(Tenon.constant(1.5, {}, type: {:f, 32})) == "#Tenon.Tensor<\n  f32\n  1.5\n>"
    assert inspect(Tenon.constant(1, {0, 2})) == "#Tenon.Tensor<\n  s64[0][2]\n  []\n>"
    assert inspect(Tenon.constant(1, {0x1000000000000, 0}), limit: :infinity) =~ "\n  []\n"
    assert inspect(t, limit: 0x10000000000000000) =~ "[3, 4, 5]\n"
    assert inspect(%{t | data: nil}) =~ "s64[2][3]\n  no elements"
    assert inspect(Tenon.constant({:nan, -1}, {1}, type: {:c, 64})) =~ "[NaN + -1.0i]"
  end

  test "options: init refuses what it does not know, and leaves what it made" do
    for backend <- [
          {Tenon.CpuBackend, limit: 1},
          {Tenon.TemplateBackend, [:seed, 1]},
          {Tenon.ExprBackend, device: 1},
          Tenon.ArenaBackend,
          {Tenon.ArenaBackend, bytes: -1},
          {Tenon.ArenaBackend, bytes: 1.0},
          {Tenon.ArenaBackend, bytes: 64, arena: make_ref()},
          {Tenon.ArenaBackend, arena: make_ref()},
          {Tenon.TrackingBackend, inner: :none},
          {Tenon.TrackingBackend, inner: String},
          {Tenon.TrackingBackend, max_events: 5},
          {Tenon.CpuBackend, seed: -1},
          {Tenon.CpuBackend, seed: 1.5}
        ] do
      assert_raise ArgumentError, fn -> Tenon.random_uniform({2}, 0, 1, backend: backend) end
    end

    arena = Tenon.ArenaBackend.init(bytes: 256)
    assert Tenon.ArenaBackend.init(arena) == arena
    tracker = Tenon.TrackingBackend.init(inner: Tenon.CpuBackend)
    assert Tenon.TrackingBackend.init(tracker) == tracker
  end

  test "the default backend is each process's own" do
    assert Tenon.default_backend(Tenon.ExprBackend) == {Tenon.CpuBackend, []}
    assert Tenon.iota({2}).data.__struct__ == Tenon.ExprBackend
    assert Task.await(Task.async(fn -> Tenon.iota({2}).data.__struct__ end)) == Tenon.CpuBackend
  end

  test "a backend that is written in Elixir can be copied to and from" do
    t = Tenon.iota({3}, type: {:u, 8})
    copy = Tenon.backend_copy(t, ListBackend)
    assert copy.data == %ListBackend{bytes: [0, 1, 2]}
    assert Tenon.to_binary(copy, limit: 2) == <<0, 1>>
    assert Tenon.backend_copy(copy, Tenon.CpuBackend) |> Tenon.to_flat_list() == [0, 1, 2]
    assert Tenon.to_flat_list(copy) == [0, 1, 2]
    assert Tenon.to_flat_list(copy, limit: 1) == [0]
    assert Tenon.backend_transfer(t, {ListBackend, []}).data.bytes == [0, 1, 2]
    assert Tenon.backend_deallocate(t) == :already_deallocated
  end

  test "what only the NIF's backends do is refused for others" do
    expected = "the backend is Tenon.BackendTest.ListBackend; expected one with a handle/1"
    e = Tenon.iota({2}, backend: Tenon.ExprBackend)

    for call <- [
          fn -> Tenon.TrackingBackend.init(inner: ListBackend) end,
          fn -> Tenon.ExprBackend.materialize(e, ListBackend) end
        ] do
      assert_raise ArgumentError, expected, call
    end

    for call <- [
          &Tenon.ExprBackend.materialize(&1, Tenon.CpuBackend),
          &Tenon.ExprBackend.to_dot/1
        ] do
      assert_raise ArgumentError, ~r/keeps no expressions/, fn -> call.(Tenon.iota({2})) end
    end
  end

  test "each callback of the behaviour is called with the arguments that it says" do
    out = %Tenon.Tensor{type: {:s, 32}, shape: {2, 2}, names: [nil, nil]}
    backend = Tenon.CpuBackend
    options = backend.init([])
    list = fn t -> backend.to_binary(t, 4) |> then(&for(<<n::little-signed-32 <- &1>>, do: n)) end
    assert list.(backend.constant(out, 3, options)) == [3, 3, 3, 3]
    assert list.(backend.eye(out, options)) == [1, 0, 0, 1]
    assert list.(backend.iota(out, nil, options)) == [0, 1, 2, 3]
    assert list.(backend.random_uniform(out, 5, 6, options)) == [5, 5, 5, 5]
    assert list.(backend.random_normal(out, 2, 0, options)) == [2, 2, 2, 2]
    t = backend.from_binary(out, <<1::128>>, options)
    assert list.(t) == [0, 0, 0, 16_777_216]
    assert list.(backend.backend_copy(t, backend, options)) == [0, 0, 0, 16_777_216]
    assert backend.backend_transfer(t, backend, options) == t
    assert backend.backend_deallocate(t) == :ok
    assert backend.backend_deallocate(t) == :already_deallocated
  end
end
