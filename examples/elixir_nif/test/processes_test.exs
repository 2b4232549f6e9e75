# SPDX-License-Identifier: MIT
defmodule Tenon.ProcessesTest do
  # Schedulers and memory are those of all processes.
  use ExUnit.Case, async: false
  import Tenon.Values
  alias Tenon.Blob

  @mebibyte 1024 * 1024

  test "a process that is killed releases its tensors, views and binaries" do
    tracker = Tenon.TrackingBackend.init([])
    live = fn -> Tenon.TrackingBackend.statistics(tracker).live_bytes end
    test = self()

    pid =
      spawn(fn ->
        t =
          Tenon.constant(1, {64 * @mebibyte},
            type: {:u, 8},
            backend: {Tenon.TrackingBackend, tracker}
          )

        held =
          {t, Blob.from_blob(Blob.to_blob(t)), Tenon.to_binary(t),
           Blob.from_blob(Blob.to_blob(t), owner: [t])}

        send(test, :made)
        Process.sleep(:infinity)
        send(test, held)
      end)

    assert_receive :made, 10_000
    assert live.() == 64 * @mebibyte
    Process.exit(pid, :kill)
    assert eventually(fn -> live.() == 0 end)
  end

  test "what a process has sent lives on in the one that has it" do
    tracker = Tenon.TrackingBackend.init([])
    test = self()

    {pid, monitor} =
      spawn_monitor(fn ->
        send(test, Tenon.iota({1000}, backend: {Tenon.TrackingBackend, tracker}))
      end)

    assert_receive {:DOWN, ^monitor, :process, ^pid, :normal}
    assert_receive %Tenon.Tensor{} = t
    assert Tenon.to_flat_list(t) == Enum.to_list(0..999)
    assert Tenon.TrackingBackend.statistics(tracker).live_bytes == 8000
  end

  test "many processes share a tensor, of which one deallocates it: each reads it or is refused" do
    tracker = Tenon.TrackingBackend.init([])
    on_tracker = {Tenon.TrackingBackend, tracker}
    expected = for n <- 0..4095, into: <<>>, do: <<n::little-64>>

    for _ <- 1..20 do
      t = Tenon.iota({4096}, backend: on_tracker)

      tasks =
        for i <- 1..32 do
          Task.async(fn ->
            for _ <- 1..20 do
              try do
                case rem(i, 4) do
                  0 -> assert Tenon.to_binary(t) == expected
                  1 -> assert Tenon.to_flat_list(t, limit: 100) == Enum.to_list(0..99)
                  2 -> assert Tenon.to_binary(Blob.from_blob(Blob.to_blob(t))) == expected
                  3 -> assert Tenon.to_binary(Tenon.backend_copy(t, on_tracker)) == expected
                end
              rescue
                error in ArgumentError -> assert error.message =~ "the tensor is deallocated"
              end
            end

            if i == 7, do: Tenon.backend_deallocate(t)
          end)
        end

      results = Task.await_many(tasks, 30_000)
      assert Enum.filter(results, & &1) == [:ok]
    end

    assert eventually(fn ->
             :erlang.garbage_collect() &&
               Tenon.TrackingBackend.statistics(tracker).live_bytes == 0
           end)
  end

  test "of many processes that deallocate a tensor, one has done it" do
    for _ <- 1..200 do
      t = Tenon.iota({10})

      results =
        Task.await_many(for _ <- 1..8, do: Task.async(fn -> Tenon.backend_deallocate(t) end))

      assert Enum.sort(results) == [
               :already_deallocated,
               :already_deallocated,
               :already_deallocated,
               :already_deallocated,
               :already_deallocated,
               :already_deallocated,
               :already_deallocated,
               :ok
             ]
    end
  end

  test "an arena is used and dropped by many processes at once" do
    arena = Tenon.ArenaBackend.init(bytes: @mebibyte)

    tasks =
      for _ <- 1..16 do
        Task.async(fn ->
          for n <- 1..200 do
            t = Tenon.constant(n, {100}, backend: {Tenon.ArenaBackend, arena})
            assert Tenon.to_flat_list(t, limit: 2) == [n, n]
            if rem(n, 2) == 0, do: Tenon.backend_deallocate(t)
            if rem(n, 20) == 0, do: :erlang.garbage_collect()
          end
        end)
      end

    Task.await_many(tasks, 30_000)
    assert eventually(fn -> Tenon.ArenaBackend.statistics(arena).used == 0 end)
  end

  # What was on a scheduler for 100 ms without a pause, while `fun` ran in as many processes as there
  # are schedulers.
  defp long_stays(fun) do
    :erlang.system_monitor(self(), [{:long_schedule, 100}])
    tasks = for _ <- 1..System.schedulers_online(), do: Task.async(fn -> fun.() && :done end)
    Task.await_many(tasks, 120_000)
    :erlang.system_monitor(:undefined)
    received()
  end

  defp received do
    receive do
      {:monitor, _pid, :long_schedule, info} -> [info | received()]
    after
      0 -> []
    end
  end

  @tag timeout: 300_000
  test "no scheduler is kept from its processes by work on 256 MiB" do
    opts = [type: {:u, 8}]
    large = Tenon.constant(1, {256 * @mebibyte}, opts)
    blob = Blob.to_blob(large)

    transposed =
      Blob.from_blob(%{blob | shape: {16 * @mebibyte, 16}, strides: [1, 16 * @mebibyte]})

    on_expr = Tenon.random_normal({64 * @mebibyte}, 0, 1, backend: Tenon.ExprBackend)

    # Each makes a tensor, which is let go of at once.
    for make <- [
          fn -> Tenon.random_normal({64 * @mebibyte}, 0, 1) end,
          fn -> Tenon.random_uniform({64 * @mebibyte}, 0, 1) end,
          fn -> Tenon.iota({64 * @mebibyte}, type: {:s, 32}) end,
          fn -> Tenon.constant(2, {256 * @mebibyte}, opts) end,
          fn -> Tenon.eye(16 * 1024, opts) end,
          fn -> Tenon.backend_copy(large) end,
          fn -> Tenon.ExprBackend.materialize(on_expr, Tenon.CpuBackend) end,
          fn ->
            Tenon.to_binary(transposed)
            Tenon.constant(0, {1})
          end,
          fn ->
            Tenon.to_flat_list(large, limit: 8 * @mebibyte)
            Tenon.constant(0, {1})
          end
        ] do
      # A machine that is busy otherwise may stop a scheduler: one quiet run of three will do.
      run = fn -> assert(Tenon.backend_deallocate(make.()) == :ok) end
      stays = with [_ | _] <- long_stays(run), [_ | _] <- long_stays(run), do: long_stays(run)
      assert stays == []
    end
  end

  # Memory of the BEAM's, and of the system's process, in which tensors are.
  defp memory do
    :erlang.garbage_collect()
    %{total: :erlang.memory(:total), binary: :erlang.memory(:binary), resident: resident()}
  end

  defp resident do
    case File.read("/proc/self/statm") do
      {:ok, text} -> (text |> String.split() |> Enum.at(1) |> String.to_integer()) * 4096
      _ -> 0
    end
  end

  @tag timeout: 300_000
  test "a million round trips leave the memory level" do
    t = Tenon.iota({2, 3}, type: {:f, 32})
    binary = :binary.copy(<<1, 2, 3, 4>>, 50)

    round_trips = fn count ->
      # Each from the one before it.
      {last, bytes} =
        Enum.reduce(1..count, {t, binary}, fn _, {t, binary} ->
          {Blob.from_blob(Blob.to_blob(t)), Tenon.to_binary(Tenon.from_binary(binary, {:s, 32}))}
        end)

      assert Tenon.to_flat_list(last) == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
      assert bytes == binary
      for _ <- 1..div(count, 10), do: Tenon.to_binary(Tenon.iota({100}))
      for _ <- 1..div(count, 10), do: Blob.from_blob(Blob.to_blob(t), owner: {:any, "term"})
      :ok
    end

    # In processes, whose own memory goes with them.
    run = fn count -> Task.await(Task.async(fn -> round_trips.(count) end), :infinity) end
    run.(10_000)
    before = memory()
    run.(1_000_000)
    now = memory()
    assert now.total - before.total < @mebibyte
    assert now.binary - before.binary < 100_000
    assert now.resident - before.resident < 32 * @mebibyte
  end

  test "to_blob takes microseconds" do
    t = Tenon.iota({2, 3}, type: {:f, 32})

    times =
      for _ <- 1..20 do
        {microseconds, _} = :timer.tc(fn -> for _ <- 1..10_000, do: Blob.to_blob(t) end)
        microseconds / 10_000
      end

    # Ten times what it takes, for machines that are busy: docs/elixir.md has the figure.
    assert Enum.min(times) < 2
  end

  test "the module may be loaded anew while its tensors live" do
    t = Tenon.iota({1000})
    binary = Tenon.to_binary(t)
    :code.purge(Tenon.Native)
    assert {:module, Tenon.Native} = :code.load_file(Tenon.Native)
    :code.purge(Tenon.Native)
    assert Tenon.to_binary(t) == binary
    assert Tenon.to_flat_list(Blob.from_blob(Blob.to_blob(t)), limit: 2) == [0, 1]
    assert Tenon.backend_deallocate(t) == :ok
  end

  test "after the module was deleted, its tensors are none; their memory stays as long as it is used" do
    t = Tenon.iota({1000})
    binary = Tenon.to_binary(t)
    :code.purge(Tenon.Native)
    :code.delete(Tenon.Native)
    :code.purge(Tenon.Native)
    assert_raise ArgumentError, ~r/expected a tensor of tenon's/, fn -> Tenon.to_binary(t) end
    assert binary_part(binary, 8, 8) == <<1::little-64>>
    assert Tenon.to_flat_list(Tenon.iota({2})) == [0, 1]
  end
end
