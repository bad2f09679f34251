#!/bin/sh
# install_client_test.sh BUILD_DIR APPLICATION_DIR CMAKE GENERATOR CXX_COMPILER CXX_FLAGS
# Installs component "client" of BUILD_DIR into a fresh prefix, builds the project in APPLICATION_DIR against it, and
# runs that. Nothing of the source tree is on the application's include path. BUILD_DIR must be built.
set -eu
build=$1 application=$2 cmake=$3 generator=$4 compiler=$5 flags=$6

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --component client --prefix "$work/prefix"
"$cmake" -S "$application" -B "$work/build" -G "$generator" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_PREFIX_PATH="$work/prefix"
"$cmake" --build "$work/build"
"$work/build/application"
