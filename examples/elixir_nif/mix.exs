# SPDX-License-Identifier: MIT
defmodule Mix.Tasks.Compile.TenonNif do
  @moduledoc "Builds the NIF with CMake, into the priv folder of the build."
  use Mix.Task.Compiler

  @impl true
  def run(_arguments) do
    build = Path.join(Mix.Project.build_path(), "nif")
    priv = Path.join(Mix.Project.app_path(), "priv")
    cmake(["-S", ".", "-B", build, "-DCMAKE_LIBRARY_OUTPUT_DIRECTORY=#{Path.expand(priv)}"])
    cmake(["--build", build])
    {:ok, []}
  end

  defp cmake(arguments) do
    System.find_executable("cmake") || Mix.raise("cmake was not found")

    case System.cmd("cmake", arguments, stderr_to_stdout: true) do
      {_, 0} -> :ok
      {output, _} -> Mix.raise("cmake #{Enum.join(arguments, " ")} failed:\n#{output}")
    end
  end
end

defmodule Tenon.MixProject do
  use Mix.Project

  def project do
    [
      app: :tenon,
      version: "0.1.0",
      elixir: "~> 1.14",
      compilers: compilers(System.get_env("TENON_NIF")),
      elixirc_paths: elixirc_paths(Mix.env()),
      deps: []
    ]
  end

  def application, do: [extra_applications: []]

  # TENON_NIF names a library that is built already.
  defp compilers(nil), do: [:tenon_nif] ++ Mix.compilers()
  defp compilers(_nif), do: Mix.compilers()

  # The pages whose examples are tested.
  defp elixirc_paths(:test), do: ["lib", "test/support"]
  defp elixirc_paths(_), do: ["lib"]
end
