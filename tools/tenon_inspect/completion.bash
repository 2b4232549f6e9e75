# SPDX-License-Identifier: MIT
# bash completion for tenon-inspect
_tenon_inspect() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  case $before in
    -s | --sort) mapfile -t COMPREPLY < <(compgen -W "name size dtype" -- "$word") ;;
    -n | --name | --head | -b | --bins | --rtol | --atol) ;;
    *)
      case $word in
        -*)
          mapfile -t COMPREPLY < <(compgen -W "--list --name --sort --head --bins --picture --png --diff --rtol
            --atol --json --help --version" -- "$word")
          ;;
        *)
          compopt -o filenames 2> /dev/null
          mapfile -t COMPREPLY < <(compgen -f -- "$word")
          ;;
      esac
      ;;
  esac
}
complete -F _tenon_inspect tenon-inspect
