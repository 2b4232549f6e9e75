# SPDX-License-Identifier: MIT
defmodule Tenon.Native do
  @moduledoc false
  # The functions of c_src/nif.cpp. Each raises ArgumentError for what it cannot take.

  @on_load :load

  @doc false
  def load do
    path =
      case System.get_env("TENON_NIF") do
        nil -> Application.app_dir(:tenon, "priv/tenon_nif")
        library -> Path.rootname(library)
      end

    :erlang.load_nif(String.to_charlist(path), 0)
  end

  def arena(_nbytes), do: stub()
  def tracking(_inner), do: stub()
  def statistics(_backend), do: stub()
  def constant(_backend, _type, _shape, _value), do: stub()
  def eye(_backend, _type, _shape), do: stub()
  def iota(_backend, _type, _shape, _axis), do: stub()
  def random_uniform(_backend, _type, _shape, _min, _max, _seed), do: stub()
  def random_normal(_backend, _type, _shape, _mean, _deviation, _seed), do: stub()
  def from_binary(_backend, _type, _shape, _binary), do: stub()
  def to_binary(_tensor, _limit), do: stub()
  def to_flat_list(_tensor, _limit), do: stub()
  def expression(_tensor), do: stub()
  def backend_copy(_tensor, _backend), do: stub()
  def lives_in(_tensor, _backend), do: stub()
  def backend_deallocate(_tensor), do: stub()
  def materialize(_tensor, _backend), do: stub()
  def to_dot(_tensor), do: stub()
  def to_blob(_tensor_or_binary), do: stub()
  def from_blob(_ptr, _shape, _strides, _type, _tensors, _other_owners), do: stub()

  defp stub, do: :erlang.nif_error(:nif_not_loaded)
end
