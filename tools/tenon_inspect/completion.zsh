#compdef tenon-inspect
# SPDX-License-Identifier: MIT
_arguments \
  '(-l --list)'{-l,--list}'[without statistics]' \
  '*'{-n,--name}'[only what has this name]:pattern:' \
  '(-s --sort)'{-s,--sort}'[the order]:key:(name size dtype)' \
  '--head[the first values of each array]:number:' \
  '(-b --bins)'{-b,--bins}'[of the histogram]:number:' \
  '(-p --picture)'{-p,--picture}'[show the array as a picture]' \
  '--png[write the array as a picture]:file:_files' \
  '(-d --diff)'{-d,--diff}'[compare two files]' \
  '--rtol[allow that much relative to the second value]:number:' \
  '--atol[allow that much]:number:' \
  '(-j --json)'{-j,--json}'[print JSON]' \
  '(-h --help)'{-h,--help}'[print the options]' \
  '--version[print the version]' \
  '*:file:_files'
