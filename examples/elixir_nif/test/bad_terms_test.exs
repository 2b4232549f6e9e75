# SPDX-License-Identifier: MIT
defmodule Tenon.BadTermsTest do
  use ExUnit.Case, async: true
  alias Tenon.{Blob, Native}

  # A term of each kind.
  @terms [
    nil,
    true,
    :atom,
    -1,
    1.5,
    0x7FFFFFFFFFFFFFFF,
    0xFFFFFFFFFFFFFFFF,
    0x10000000000000000,
    -0x8000000000000001,
    "",
    "text",
    <<1::3>>,
    [],
    [1 | 2],
    [1 | :improper],
    ~c"list",
    {},
    {1},
    {:f, 32},
    {:f, 33},
    {"f", 32},
    {:f, 32, 1},
    {-1},
    {1.0},
    {:a},
    {1, {2}},
    {0x7FFFFFFFFFFFFFFF, 0x7FFFFFFFFFFFFFFF},
    {0x10000000000000000},
    %{},
    %{ptr: 1},
    %Blob{},
    &Kernel.+/2
  ]

  defp terms, do: @terms ++ [self(), make_ref(), Tuple.duplicate(1, 65), Enum.to_list(1..100)]

  # What a function of the NIF returns or raises, of which nothing else is allowed.
  defp outcome(name, arguments) do
    apply(Native, name, arguments)
    :returned
  rescue
    error in [ArgumentError, RuntimeError] ->
      assert String.starts_with?(error.message, "#{name}: "), error.message
      error.__struct__
  end

  test "each function takes or refuses any term in the place of any argument" do
    t = Tenon.iota({4}, type: {:u, 8})
    %{ref: ref} = t.data
    %{ref: expr} = Tenon.iota({4}, backend: Tenon.ExprBackend).data
    [tracker: tracker] = Tenon.TrackingBackend.init([])
    %{ptr: ptr} = Blob.to_blob(t)

    good = [
      arena: [64],
      tracking: [:cpu],
      statistics: [tracker],
      constant: [:cpu, 0, [2], 1],
      eye: [:cpu, 0, [2, 2]],
      iota: [:cpu, 0, [2, 2], 0],
      random_uniform: [:cpu, 6, [2], 0, 1, 7],
      random_normal: [:cpu, 6, [2], 0, 1, 7],
      from_binary: [:cpu, 0, [4], "text"],
      to_binary: [ref, 2],
      to_flat_list: [ref, 2],
      expression: [expr],
      backend_copy: [ref, :cpu],
      lives_in: [ref, :cpu],
      backend_deallocate: [Tenon.iota({4}).data.ref],
      materialize: [expr, :cpu],
      to_dot: [expr],
      to_blob: [ref],
      from_blob: [ptr, [4], [1], 0, [ref], []]
    ]

    assert Enum.sort(for {name, arguments} <- good, do: {name, length(arguments)}) ==
             Enum.sort(
               for {name, arity} <- Native.__info__(:functions), name != :load, do: {name, arity}
             )

    for {name, arguments} <- good do
      assert outcome(name, arguments) == :returned, inspect(name)

      outcomes =
        for at <- 0..(length(arguments) - 1), term <- terms(), not wild(name, at, term) do
          outcome(name, List.replace_at(arguments, at, term))
        end

      assert ArgumentError in outcomes, inspect(name)
    end
  end

  # An arena of petabytes is the system's to refuse; without a list of owners the pointer is trusted.
  defp wild(:from_blob, at, _term) when at in 4..5, do: true
  defp wild(_name, _at, _term), do: false

  test "the message says the function, the term and what is expected" do
    for {message, call} <- [
          {"iota: the shape is [1,b]; expected at most 64 integers of 64 bits",
           fn -> Tenon.iota({1, :b}) end},
          {"constant: the constant is '2+3i'; expected a number of 64 bits, true, false, :nan, :infinity, :neg_infinity or {real, imaginary}",
           fn -> Tenon.constant(:"2+3i", {1}) end},
          {"iota: size -1 of dimension 0 is negative in sizes {-1}", fn -> Tenon.iota({-1}) end},
          {"from_binary: 1003 bytes were given, expected a multiple of 8, the size of an element of {:c, 64}",
           fn -> Tenon.from_binary(:binary.copy("x", 1003), {:c, 64}) end},
          {"from_binary: 1 bytes were given, expected a multiple of 2, the size of an element of {:bf, 16}",
           fn -> Tenon.from_binary("x", {:bf, 16}) end},
          {"to_binary: the limit is many; expected an integer of 64 bits",
           fn -> Native.to_binary(Tenon.iota({1}).data.ref, :many) end},
          {"the names are [:a]; expected an atom or nil for each dimension of {1, 1}",
           fn -> Tenon.iota({1, 1}, names: [:a]) end},
          {"the shape is [1, 1]; expected a tuple of integers", fn -> Tenon.iota([1, 1]) end},
          {"the tensor is 5; expected a Tenon.Tensor", fn -> Tenon.to_binary(5) end}
        ] do
      assert_raise ArgumentError, message, call
    end

    assert_raise ArgumentError, ~r/^the type is :f32; expected {:u \| :s, 8 \| 16/, fn ->
      Tenon.iota({1}, type: :f32)
    end
  end

  test "messages are text, whatever the term" do
    for term <- [
          :é,
          ~c"\u00E9t\u00E9",
          "é",
          String.to_atom(String.duplicate("日", 255)),
          [:é | ~c"é"]
        ] do
      error = assert_raise ArgumentError, fn -> Tenon.constant(term, {1}) end
      assert String.valid?(error.message)
      assert error.message =~ "; expected a number of 64 bits"
    end
  end

  test "trackers around each other are at most 64, for which the stack is enough" do
    around = fn inner -> {Tenon.TrackingBackend, Tenon.TrackingBackend.init(inner: inner)} end
    backend = Enum.reduce(1..64, Tenon.CpuBackend, fn _, inner -> around.(inner) end)
    t = Tenon.constant(3, {100_000}, backend: backend)
    assert Tenon.to_flat_list(t, limit: 1) == [3]
    assert_raise ArgumentError, ~r/at most 64 trackers/, fn -> around.(backend) end
  end

  test "sizes that no memory has are refused, as arguments or for want of memory" do
    for shape <- [
          {0x7FFFFFFFFFFFFFFF},
          {0x100000000, 0x100000000},
          {3_000_000_000, 3_000_000_000}
        ],
        backend <- [
          Tenon.CpuBackend,
          {Tenon.ArenaBackend, bytes: 4096},
          {Tenon.TrackingBackend, []}
        ] do
      assert_raise ArgumentError, fn -> Tenon.iota(shape, backend: backend) end

      assert_raise ArgumentError, fn ->
        Tenon.from_binary("text", {:u, 32}, shape: shape, backend: backend)
      end
    end

    assert_raise RuntimeError, ~r/^constant: /, fn ->
      Tenon.constant(1, {0x0FFFFFFFFFFFFFFF}, type: {:u, 8})
    end

    assert_raise RuntimeError, ~r/^arena: /, fn ->
      Tenon.ArenaBackend.init(bytes: 0x0FFFFFFFFFFFFFFF)
    end

    assert_raise ArgumentError, fn -> Tenon.constant(1, Tuple.duplicate(1, 65)) end
    assert Tenon.constant(1, Tuple.duplicate(1, 64)) |> Tenon.to_flat_list() == [1]
  end

  test "values that a type does not hold are refused" do
    for {value, type} <- [
          {-1, {:u, 8}},
          {256, {:u, 8}},
          {1.5, {:s, 32}},
          {{1, 1}, {:f, 32}},
          {:nan, {:s, 8}},
          {2, {:bool, 8}}
        ] do
      assert_raise ArgumentError, ~r/^constant: /, fn ->
        Tenon.constant(value, {2}, type: type)
      end
    end

    for {min, max, type} <- [
          {1, 0, {:f, 32}},
          {0, 300, {:u, 8}},
          {0.0, 1.0, {:s, 8}},
          {:nan, 1, {:f, 32}},
          {0, 0, {:s, 8}}
        ] do
      assert_raise ArgumentError, ~r/^random_uniform: /, fn ->
        Tenon.random_uniform({2}, min, max, type: type)
      end
    end

    for {mean, deviation} <- [{0, -1}, {:infinity, 1}, {:a, 1}, {0, nil}] do
      assert_raise ArgumentError, ~r/^random_normal: /, fn ->
        Tenon.random_normal({2}, mean, deviation)
      end
    end
  end

  test "blobs with missing or wrong fields are refused" do
    t = Tenon.iota({4}, type: {:u, 8})
    blob = Blob.to_blob(t)

    for wrong <-
          [%{}, %{ptr: 1}, %{ptr: 1, shape: {1}}, %Blob{}, nil, [], "blob", {1, 2}] ++
            for(
              {key, value} <- [
                ptr: nil,
                ptr: -1,
                ptr: 1.0,
                ptr: 0x10000000000000000,
                ptr: 0,
                shape: nil,
                shape: 4,
                shape: {-1},
                shape: {2.0},
                shape: [1 | 2],
                shape: {:a},
                strides: :a,
                strides: [1, 1],
                strides: [1.0],
                strides: [1 | 2],
                strides: {0x10000000000000000},
                dtype: :float32,
                dtype: nil,
                dtype: {:f, 7},
                dtype: "f32",
                device: :cuda,
                device: nil,
                device: {:cuda, 0},
                element_size: 2,
                element_size: -1,
                element_size: :a,
                owner: nil
              ],
              do: Map.put(blob, key, value)
            ) do
      assert_raise ArgumentError, fn -> Blob.from_blob(wrong) end
    end

    assert_raise ArgumentError, fn -> Blob.from_blob(blob, metadata_backend: t) end

    assert_raise ArgumentError, ~r/multiple of the element's alignment/, fn ->
      Blob.from_blob(%{blob | ptr: blob.ptr + 1, dtype: {:s, 16}, shape: {1}, element_size: 2})
    end
  end

  test "a tensor's struct with another shape or type reads what the tensor has" do
    t = Tenon.iota({4}, type: {:u, 8})
    assert Tenon.to_binary(%{t | shape: {1_000_000}}) == <<0, 1, 2, 3>>
    assert Tenon.to_flat_list(%{t | type: {:f, 64}}) == [0, 1, 2, 3]
    assert Blob.to_blob(%{t | shape: {100}}).shape == {4}

    for ref <- [
          nil,
          make_ref(),
          "text",
          :binary.copy("x", 100),
          Tenon.to_binary(Tenon.iota({100}))
        ] do
      forged = %{t | data: %Tenon.CpuBackend{ref: ref}}

      assert_raise ArgumentError, ~r/^to_binary: the tensor is /, fn ->
        Tenon.to_binary(forged)
      end

      assert_raise ArgumentError, fn -> Tenon.backend_deallocate(forged) end
    end
  end
end
