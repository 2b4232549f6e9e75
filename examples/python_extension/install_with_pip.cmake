# SPDX-License-Identifier: MIT
# The body of a test: installs the module with pip into the folder TARGET, and runs the demo there. CI does
# without optimisation, which takes longest.
file(REMOVE_RECURSE "${TARGET}")
execute_process(
  COMMAND "${CMAKE_COMMAND}" -E env "PYTHONPATH=${TOOLS}" "CMAKE_PREFIX_PATH=${TOOLS}" PIP_DISABLE_PIP_VERSION_CHECK=1
          PIP_ROOT_USER_ACTION=ignore "${PYTHON}" -B -m pip install --no-build-isolation --no-deps --no-index
          --no-compile "--config-settings=cmake.build-type=${BUILD_TYPE}" --target "${TARGET}" "${CMAKE_CURRENT_LIST_DIR}"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(
  COMMAND "${CMAKE_COMMAND}" -E env "PYTHONPATH=${TARGET}:${LIBRARIES}" "${PYTHON}" -B
          "${CMAKE_CURRENT_LIST_DIR}/demo.py"
  COMMAND_ERROR_IS_FATAL ANY)
