#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The ways in which microcontroller users take the library build for a Cortex-M4F, and their manifests are right.

usage: packages.py single_header | manifests | arduino | platformio
"""

import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
CPU = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
LINK = ["-Wl,--gc-sections", "--specs=nano.specs"]
# To run a program on a QEMU machine, with startup.cpp.
EMBEDDED = HERE.parent
RUN_LINK = ["--specs=rdimon.specs", "-T", EMBEDDED / "mps2.ld", "-Wl,--defsym=flash_at=0,--defsym=ram_at=0x20000000"]
QEMU = ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", "none", "-semihosting-config",
        "enable=on,target=native,arg=sketch", "-kernel"]
# What the cores for Arm boards compile with.
ARDUINO = ["-Os", "-std=gnu++17", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-ffunction-sections",
           "-fdata-sections", "-Wall", "-Wextra"]


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    # Linking without the system's functions warns of each.
    output = "" if done.returncode == 0 and "-c" not in command else done.stdout + done.stderr
    if done.returncode or output:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(what, is_so):
    if not is_so:
        sys.exit(f"not so: {what}")


def compile_and_link(folder, sources, *options, link=("--specs=nosys.specs",)):
    objects = [pathlib.Path(folder, f"{number}.o") for number in range(len(sources))]
    for source, target in zip(sources, objects):
        run("arm-none-eabi-g++", *CPU, *options, "-c", source, "-o", target)
    run("arm-none-eabi-g++", *CPU, *LINK, *link, *objects, "-o", pathlib.Path(folder, "program.elf"))


def library_version():
    text = (ROOT / "include/tenon/config.h").read_text(encoding="utf-8")
    return ".".join(re.search(rf"^#define TENON_VERSION_{part} (\d+)$", text, re.MULTILINE)[1]
                    for part in ("MAJOR", "MINOR", "PATCH"))


def single_header(folder):
    run(sys.executable, "-B", ROOT / "scripts/single_header.py", "--with", "module/function_module", folder / "tenon.hpp")
    program = (ROOT / "tests/platforms/embedded/size/function_module.cpp").read_text(encoding="utf-8")
    program, count = re.subn(r'(#include "tenon/.*"\n)+', '#include "tenon.hpp"\n', program)
    expect("the program includes the library in one place", count == 1)
    (folder / "main.cpp").write_text(program, encoding="utf-8")
    compile_and_link(folder, [folder / "main.cpp"], "-Os", "-std=c++17", "-fno-exceptions", "-fno-rtti",
                     "-fno-threadsafe-statics", "-ffunction-sections", "-fdata-sections", "-Wall", "-Wextra", "-Wpedantic",
                     "-Wconversion", "-Wshadow", "-Werror", "-Wno-psabi")


def manifests(_folder):
    """What both manifests name is there, at config.h's version."""
    library = ROOT / "arduino"
    text = (library / "library.properties").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))
    expect("the version is config.h's", fields["version"] == library_version())
    for header in fields["includes"].split(","):
        expect(f"src/{header} is there", (library / "src" / header).is_file())
    expect("the main header has the library's name", f"{fields['name']}.h" in fields["includes"].split(","))
    for sketch in (library / "examples").iterdir():
        expect(f"{sketch.name} has a sketch of its name", (sketch / f"{sketch.name}.ino").is_file())

    manifest = json.loads((ROOT / "library.json").read_text(encoding="utf-8"))
    expect("library.json's name", manifest["name"] == fields["name"])
    expect("library.json's version is config.h's", manifest["version"] == library_version())
    expect("its header is there", (ROOT / manifest["build"]["includeDir"] / manifest["headers"]).is_file())
    for path in manifest["export"]["include"]:
        expect(f"{path} is there", (ROOT / path).exists())


def arduino(folder):
    """As the Arduino tools build a sketch: they include Arduino.h in front, add the library's src/, and only that, to
    the include path, and compile every source in it."""
    library = folder / "libraries" / "tenon"
    run(ROOT / "scripts/arduino.sh", library)
    expect("the licence is there", (library / "LICENSE").is_file())
    for path in library.rglob("*"):
        expect(f"{path} is no link, which Library Manager refuses", not path.is_symlink())
    sources = [HERE / "arduino" / "core.cpp", *(library / "src").rglob("*.cpp"), *(library / "src").rglob("*.c")]
    sketches = sorted((library / "examples").rglob("*.ino"))
    expect("there are sketches", sketches)
    for sketch in sketches:
        source = folder / f"{sketch.name}.cpp"
        source.write_text(f'#include <Arduino.h>\n#line 1 "{sketch}"\n{sketch.read_text(encoding="utf-8")}',
                          encoding="utf-8")
        compile_and_link(folder, [source, *sources, EMBEDDED / "startup.cpp"], *ARDUINO, "-Werror", "-Wno-psabi",
                         f"-I{HERE / 'arduino'}", f"-I{library / 'src'}", link=RUN_LINK)
        if shutil.which(QEMU[0]):
            run(*QEMU, folder / "program.elf", timeout=60)
    # Every header that plain programs may want can be included after tenon.h.
    source = folder / "module.cpp"
    source.write_text("#include <Arduino.h>\n#include <tenon.h>\n#include <tenon/module/function_module.h>\n"
                      "#include <tenon/exchange/dlpack.h>\nvoid setup() {}\nvoid loop() {}\n", encoding="utf-8")
    compile_and_link(folder, [source, *sources], *ARDUINO, "-Werror", "-Wno-psabi", f"-I{HERE / 'arduino'}",
                     f"-I{library / 'src'}")
    again = subprocess.run([ROOT / "scripts/arduino.sh", library], capture_output=True, text=True, check=False)
    expect("a folder that is there is refused", again.returncode == 1 and "is there already" in again.stderr)
    if not shutil.which(QEMU[0]):
        print(f"tenon: skipped: {QEMU[0]} was not found, so the sketches were built, but not run")
        sys.exit(77)


def platformio(folder):
    """PlatformIO's own reading of both manifests, and the package that it makes."""
    if importlib.util.find_spec("platformio") is None:
        print("tenon: skipped: PlatformIO was not fetched (scripts/partners.sh platformio)")
        sys.exit(77)
    # pylint: disable=import-error,import-outside-toplevel
    from platformio.package.manifest.parser import ManifestParserFactory
    from platformio.package.manifest.schema import ManifestSchema
    from platformio.package.pack import PackagePacker

    # The list of licences is on a site that tests do not ask.
    ManifestSchema.load_spdx_licenses = staticmethod(lambda: {"licenses": [{"licenseId": "MIT"}]})
    for path in (ROOT / "library.json", ROOT / "arduino" / "library.properties"):
        data = ManifestParserFactory.new_from_file(str(path)).as_dict()
        read = ManifestSchema().load_manifest(data)  # raises what it does not accept
        expect(f"{path.name}'s name and version", (read["name"], read["version"]) == ("tenon", library_version()))
    package = pathlib.Path(PackagePacker(str(ROOT)).pack(str(folder)))
    with tarfile.open(package) as archive:
        archive.extractall(folder / "package")
    for name in ("library.json", "include/tenon/tenon.h", "LICENSE"):
        expect(f"the package has {name}", (folder / "package" / name).is_file())
    expect("and nothing that would be compiled", not list((folder / "package").rglob("*.cpp")))
    # PlatformIO adds the folder that the manifest names to the include path.
    compile_and_link(folder, [ROOT / "tests/platforms/embedded/size/list.cpp"], *ARDUINO, "-Werror", "-Wno-psabi",
                     f"-I{folder / 'package/include'}")


def main():
    tests = {test.__name__: test for test in (single_header, manifests, arduino, platformio)}
    if len(sys.argv) != 2 or sys.argv[1] not in tests:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        tests[sys.argv[1]](pathlib.Path(folder))


if __name__ == "__main__":
    main()
