#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that every public function of tenon has a case in which what it calls fails.

usage: check_failures.py REPOSITORY [list]

The functions are read from the headers: those of namespace tenon, function objects, and the public
members of its classes, by name, so that overloads are one. The cases are the calls of FAIL_EACH,
fail_each and their like in tests/stress/allocation and tests/unit/interop/python/failures_test.cpp: they cover
the functions that their text calls, and the members ("Module::run") that its first text names. What
is listed in NOT_FAILING needs none. constexpr functions are left out, since they allocate nothing;
so are pure virtual ones. The try_ forms have theirs in tests/builds/no_exceptions/failures.cpp, which
is built with exceptions too, but for those in NEEDING_EXCEPTIONS; what throws is covered by its try_ form.
With `list` each function is printed with what covers it.
Prints one line for each fault and exits with 1 if there is one.
"""

import pathlib
import re
import sys

import check_headers
from parse_headers import (MACRO, WORD, declarations, declarator, end_of, function_name, tokens_of,
                           without_brackets)

# Headers whose functions need no cases here, with why. Those in the folders of interop/ are named as if they lay beside
# their partner's.
OTHER_HEADERS = {
    "tenon/aten/": "ATen mode's own form of what has cases: its memory is libtorch's",
    "tenon/testing/": "the conformance suite calls what has cases; a failure is a failed trial",
    "tenon/backend/cuda": "tests/unit/cuda lets each call of a simulated CUDA runtime fail",
    "tenon/compat/": "ExecuTorch's names for functions that have cases",
    "tenon/interop/aoti": "tests/unit/interop/aoti*_test.cpp let each of their allocations fail",
    "tenon/interop/arrow": "tests/unit/interop/arrow_test.cpp lets each of their allocations fail",
    "tenon/interop/aten.h": "tests/unit/interop/aten_from_test.cpp lets each of their allocations fail",
    "tenon/interop/eigen": "tests/unit/interop/eigen_test.cpp lets each of their allocations fail",
    "tenon/interop/executorch": "tests/unit/interop/executorch_test.cpp lets each of their allocations fail",
    "tenon/interop/gguf": "tests/unit/interop/gguf_test.cpp lets each of their allocations fail",
    "tenon/interop/mdspan.h": "tests/unit/interop/mdspan_test.cpp: allocates strides of many dimensions alone",
    "tenon/interop/mpi": "their allocations are among those of MPI, which does not survive when its own fail",
    "tenon/interop/nanobind.h": "registers a translator once, when a module is imported",
    "tenon/interop/onnxruntime.h": "ONNX Runtime ends the program where its allocations fail",
    "tenon/interop/npz": "tests/unit/interop/npz_test.cpp lets each allocation of reading fail; minizip crashes where its own fail in writing",
    "tenon/interop/opencv.h": "tests/unit/interop/opencv_test.cpp lets each of their allocations fail",
    "tenon/interop/pybind11.h": "registers a translator once, when a module is imported",
    "tenon/interop/safetensors": "tests/unit/interop/safetensors_test.cpp lets each of their allocations fail",
    "tenon/interop/torch_file": "tests/unit/interop/torch_file_test.cpp lets each of their allocations fail",
    "tenon/interop/torch_stable": "tests/unit/interop/torch_stable*_test.cpp let each of their allocations fail",
    "tenon/interop/torch_writer": "minizip crashes where its own allocations fail in writing",
    "tenon/interop/xtensor.h": "tests/unit/interop/xtensor_test.cpp lets each of their allocations fail",
    "tenon/interop/torchscript.h": "libtorch's exceptions are raised in torchscript_test.cpp",
}

# Functions that need none, by why.
NOT_FAILING = {
    "reads what the object, or the thread, has": """
        ArenaBackend::capacity ArenaBackend::high_water ArenaBackend::metadata_backend
        TensorView::dtype TensorView::scalar_type ViewWithLists::dtype ViewWithLists::scalar_type
        Blob::scalar_type TensorSpec::dtype TensorSpec::scalar_type
        ArenaBackend::name ArenaBackend::used Backend::as_device Backend::base Backend::live_blocks
        Backend::metadata_backend BackendOptions::begin BackendOptions::check_names
        BackendOptions::end BackendOptions::find BackendOptions::read BackendOptions::size CpuBackend::name
        Deleter::error Deleter::stored Deleter::target
        DeviceBackend::as_device Strides::dims
        EValue::isBool EValue::isBoolList EValue::isDouble EValue::isDoubleList EValue::isInt
        EValue::isIntList EValue::isNone EValue::isOptionalTensorList EValue::isScalar
        Module::is_method_loaded
        EValue::isString EValue::isStringList EValue::isTensor EValue::isTensorList EValue::kind EValue::toBool
        EValue::toBoolList EValue::toDouble EValue::toDoubleList EValue::toInt EValue::toIntList
        EValue::toOptionalTensorList EValue::toScalar EValue::toString EValue::toStringList EValue::toTensor
        EValue::toTensorList EValue::tryToBool EValue::tryToBoolList EValue::tryToDouble
        EValue::tryToDoubleList EValue::tryToInt EValue::tryToIntList
        EValue::tryToOptionalTensorList EValue::tryToScalar EValue::tryToString EValue::tryToStringList
        EValue::tryToTensor EValue::tryToTensorList Exception::error ExprBackend::device
        ExprBackend::is_opaque ExprBackend::name ExprBackend::synchronize Expression::numel
        Expression::value HostMemoryBackend::device HostMemoryBackend::is_opaque
        HostMemoryBackend::synchronize
        Outputs::is_set Outputs::size Outputs::target
        Outputs::values PmrBackend::name PmrBackend::resource PoolBackend::cached_bytes
        PoolBackend::metadata_backend PoolBackend::name PoolBackend::statistics
        Deleter::operator_bool Result::error Result::operator_Error Result::ok
        Result::operator_bool
        Result::operator_UseValueOrCheckOk
        ViewWithLists::operator_TensorView Tensor::as_view as_view Result::operator*
        Result::operator-> Result::value Result::value_or Scalar::fits Scalar::isBoolean Scalar::isComplex
        Scalar::isFloatingPoint Scalar::isIntegral Scalar::keeps Scalar::to Scalar::type
        Summary::finite Summary::mean_std Summary::min_max Summary::nans Summary::negative_infinities
        Summary::numel Summary::positive_infinities
        MetaBackend::device MetaBackend::is_opaque MetaBackend::name
        MetaBackend::synchronize Tensor::accessor Tensor::const_data_ptr Tensor::data
        Tensor::data_ptr Tensor::defined Tensor::impl Tensor::is_alias_of Tensor::is_aligned
        Tensor::item Tensor::mutable_data_ptr Tensor::unsafeGetTensorImpl Tensor::use_count
        TensorAccessor::Iterator TensorAccessor::begin TensorAccessor::data TensorAccessor::end
        TensorAccessor::extent TensorAccessor::operator!= TensorAccessor::operator()
        TensorAccessor::operator* TensorAccessor::operator++ TensorAccessor::operator-> TensorAccessor::operator==
        TensorAccessor::operator[] TensorAccessor::size TensorAccessor::sizes TensorAccessor::stride TensorAccessor::strides
         IndicesArg::is_list IndicesArg::too_large IndicesArg::tensor IndicesArg::view
         TensorArg::defined TensorArg::tensor TensorArgs::for_each
         TensorArgs::operator[] TensorArgs::size TensorImpl::data TensorImpl::has_data
         TensorImpl::mutable_data TensorMetadata::device TensorMetadata::device_index
         TensorMetadata::device_type TensorMetadata::dim TensorMetadata::dim_order
         TensorMetadata::dtype
        TensorMetadata::element_size TensorMetadata::is_contiguous TensorMetadata::is_readonly
        TensorMetadata::nbytes TensorMetadata::numel TensorMetadata::ownership
        TensorMetadata::scalar_type TensorMetadata::shape_dynamism TensorMetadata::size
        TensorMetadata::sizes TensorMetadata::stride TensorMetadata::strides
        TrackingBackend::dropped_events TrackingBackend::live_bytes
        TrackingBackend::live_count TrackingBackend::name TrackingBackend::peak_bytes
        TrackingBackend::refused_count TrackingBackend::total_bytes TrackingBackend::total_count
        TrackingBackend::untracked_count ValueSpec::name
        WrapperBackend::as_device WrapperBackend::base WrapperBackend::device
        WrapperBackend::inner WrapperBackend::is_opaque WrapperBackend::metadata_backend
        backend_for can_assign check_dlpack const_data_ptr data default_backend
        default_generator device is_aligned is_python_tensor is_readonly item
        last_error_message mutable_data_ptr ownership shape_dynamism""",
    "computes with numbers and lists that it is given": """
        compute_offset_range compute_nbytes compute_numel
        dim_order_from_strides is_contiguous is_dense may_overlap strided_copy""",
    "sets fields": """
        BackendOption::BackendOption BackendScope::BackendScope
        BackendScope::~BackendScope CopyPlan::CopyPlan CopyPlan::operator=
        Deleter::emplace Deleter::take Deleter::own_block EValue::operator= Generator::Generator Generator::set_state
        IndicesArg::IndicesArg
        NamedTensor::NamedTensor NoAllocationScope::NoAllocationScope Outputs::Outputs Outputs::clear Outputs::put
        PoolBackend::init Result::operator=
        Scalar::Scalar StridedCopy::StridedCopy Tensor::Tensor Tensor::operator=
        TensorAccessor::TensorAccessor TensorArg::TensorArg TensorArgs::TensorArgs
        Tensor::set_data TensorImpl::set_data TrackingBackend::init
        TrackingScope::~TrackingScope manual_seed register_backend
        set_data set_error set_failure_handler unregister_backend""",
    "releases": """
        ArenaBackend::~ArenaBackend Backend::~Backend CpuBackend::deallocate
        DLPackDeleter::operator() Deleter::operator= Deleter::reset Deleter::~Deleter
        EValue::~EValue ExprBackend::deallocate PmrBackend::deallocate PoolBackend::trim
        PoolBackend::~PoolBackend Result::~Result TensorImpl::~TensorImpl
        std::default_delete::default_delete std::default_delete::operator()
        MetaBackend::deallocate WrapperBackend::deallocate""",
    "writes to memory that it is given": """
        ArenaBackend::ArenaBackend ArenaBackend::allocate ArenaBackend::deallocate
        ArenaBackend::reset Device::append EValue::append HostMemoryBackend::copy_from_host
        HostMemoryBackend::copy_to_host HostMemoryBackend::copy_within Scalar::store_exact""",
    "only says that it does nothing of the kind": """
        Backend::constant Backend::copy Backend::eye Backend::from_binary Backend::init
        Backend::inspect Backend::iota Backend::on_made Backend::random_integers
        Backend::random_normal Backend::random_uniform Backend::to_binary
        MetaBackend::allocate MetaBackend::copy_from_host MetaBackend::copy_to_host
        MetaBackend::copy_within""",
    "is a call of another function that has cases, or of the backend that is wrapped": """
        CpuBackend::allocate Tensor::operator_delete Tensor::operator_new
        MetaBackend::inspect Result::and_then Result::transform WrapperBackend::allocate
        WrapperBackend::copy_from_host WrapperBackend::copy_to_host WrapperBackend::copy_within
        WrapperBackend::on_made WrapperBackend::synchronize operator<<""",
    "is how every case that fails reports it": "Exception::Exception check",
    "has cases of another form in tracking_failure_test.cpp": """
        TrackingBackend::~TrackingBackend TrackingScope::TrackingScope""",
    "gives a short text, which std::string holds in place": "Device::Device Device::to_string",
}

# try_ forms that take or give what a standard container allocates: std::bad_alloc ends a program
# that has no exceptions. The last two need Python.
NEEDING_EXCEPTIONS = {"try_chunk", "try_expression", "try_from_bytes", "try_make_template",
                      "try_materialize", "try_split", "try_to_binary", "try_to_npy", "try_to_vector", "try_unbind", "try_from_capsule", "try_from_python"}

# Macros at namespace scope that define functions of their first argument's name, and a try_ form.
DEFINING_MACROS = {"TENON_CLONE", "TENON_CREATOR", "TENON_RANDOM", "TENON_VIEW"}
OTHER_MACROS = {"TENON_FORALL_SCALAR_TYPES"}

# Classes of function objects that only DEFINING_MACROS make.
INTERNAL = {"Creator", "StridedCreator", "LikeCreator", "Random", "RandomStrided", "RandomLike"}


def public_functions(headers):
    """Maps the name of each public function that is neither constexpr nor pure, deleted or
    defaulted to its header. Raises ValueError for a macro that may define some."""
    found, objects = {}, {}
    for header, text in headers.items():
        for scopes, head in declarations(tokens_of(text)):
            names = [name for name, _ in scopes if name]
            if any(name.startswith("detail") for name in names):
                continue
            if any(access != "public" for _, access in scopes):
                continue
            if not names and MACRO.match(head[0]) and head[1:2] == ["("]:
                if head[0] in DEFINING_MACROS:
                    found.update({head[2]: header, "try_" + head[2]: header})
                elif head[0] not in OTHER_MACROS:
                    raise ValueError(f"{header}: {head[0]} is in neither list of macros")
                continue
            plain = without_brackets(declarator(head))
            if head[-2:] in (["=", "0"], ["=", "delete"], ["=", "default"]):
                continue
            name = function_name(head)
            if name is None:
                # An object that is called: `inline constexpr Eye<TensorPtr> eye{"eye"}`.
                if not names and plain[:2] == ["inline", "constexpr"] and "{" in head:
                    objects[head[head.index("{") - 1]] = (header, plain[2])
            elif name and "constexpr" not in plain:
                found["::".join(names + [name])] = header
    # The call operator of such a class is what the object is there for.
    kinds = INTERNAL | {kind for _, kind in objects.values()}
    for name, (header, kind) in objects.items():
        if kind == "detail" or kind + "::operator()" in found:
            found[name] = header
    return {name: header for name, header in found.items()
            if not (name.endswith("::operator()") and name.split("::")[0] in kinds)}


def covered_functions(text):
    """The names that the cases in a test file cover."""
    tokens = tokens_of(text)
    names = set()
    for i, token in enumerate(tokens[:-1]):
        if not re.match(r"(FAIL_EACH|fail_each)\w*$", token) or tokens[i + 1] != "(":
            continue
        case = tokens[i + 2:end_of(tokens, i + 1) - 1]
        names.update(re.findall(r"\w+::[^\s,:\"]+", case[0]))
        names.update(name for before, name, then in zip([""] + case, case, case[1:])
                     if then in ("(", "<") and before not in (".", "->") and WORD.match(name))
    return names


def check(headers, functions, covered, not_failing, other_headers):
    """Yields faults: functions without a case, and what is listed without need."""
    for prefix in other_headers:
        if not any(header.startswith(prefix) for header in headers):
            yield f"there is no {prefix}, which OTHER_HEADERS lists"
    excepted = {name: why for why, names in not_failing.items() for name in names.split()}
    for name in sorted(excepted):
        if name not in functions:
            yield f"there is no {name}, which NOT_FAILING lists"
        elif name in covered:
            yield f"{name} has a case, and is listed in NOT_FAILING"
    others = tuple(other_headers)
    for name, header in sorted(functions.items(), key=lambda item: item[::-1]):
        if name not in covered and name not in excepted and not header.startswith(others):
            yield (f"{header}: {name} has no case in tests/stress/allocation: let what it calls fail in a "
                   "FAIL_EACH, or list it in NOT_FAILING and say why nothing in it can")


def check_tries(functions, covered, needing_exceptions, other_headers):
    """Yields try_ forms without a case in a program without exceptions."""
    for name in sorted(needing_exceptions - set(functions)):
        yield f"there is no {name}, which NEEDING_EXCEPTIONS lists"
    others = tuple(other_headers)
    for name, header in sorted(functions.items(), key=lambda item: item[::-1]):
        if name.startswith("try_") and not header.startswith(others) and (
                name not in covered and name not in needing_exceptions):
            yield f"{header}: {name} has no case in tests/builds/no_exceptions/failures.cpp"


def main(arguments):
    if not arguments or arguments[1:] not in ([], ["list"]):
        print(__doc__, file=sys.stderr)
        return 2
    headers = {re.sub(r"^tenon/interop/(?:files|libraries|processes|runtimes)/", "tenon/interop/", header): text
               for header, text in check_headers.read_headers(arguments[0]).items()}
    functions = public_functions(headers)
    tests = pathlib.Path(arguments[0], "tests")
    covered = set()
    for path in [*tests.glob("stress/allocation/*_test.cpp"), *tests.glob("unit/interop/python/failures_test.cpp")]:
        covered |= covered_functions(path.read_text(encoding="utf-8"))
    if not functions or not covered:
        print(f"{arguments[0]} has no headers, or no cases", file=sys.stderr)
        return 1
    program = (tests / "builds" / "no_exceptions" / "failures.cpp").read_text(encoding="utf-8")
    covered_there = covered_functions(program)
    covered |= covered_there
    covered |= {name[len("try_"):] for name in covered if name.startswith("try_")}  # which throws that one's error
    covered -= set(" ".join(NOT_FAILING.values()).split()) & (covered_there | {name[len("try_"):] for name in covered_there})
    if arguments[1:]:
        for name, header in sorted(functions.items(), key=lambda item: item[::-1]):
            print(f"{header} {name}{' has a case' if name in covered else ''}")
    faults = list(check(headers, functions, covered, NOT_FAILING, OTHER_HEADERS))
    faults += check_tries(functions, covered_there, NEEDING_EXCEPTIONS, OTHER_HEADERS)
    for fault in faults:
        print(fault)
    with_case = sum(name in covered for name in functions)
    print(f"{len(functions)} public functions, {with_case} with a case, "
          f"{len(functions) - with_case} without; {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
