# kernelwire-server with kernels for compute capability 7.5 to 10.x, and 12.0 on. It also runs without a GPU.
#   docker build -t kernelwire .
#   docker run --gpus all -p 8001:8001 -p 8002:8002 kernelwire
# Both bases are arguments, so that a registry's mirror can be named, or plain ubuntu:24.04 twice with CUDA=OFF.
ARG BUILD_IMAGE=nvidia/cuda:13.0.1-devel-ubuntu24.04
ARG RUN_IMAGE=ubuntu:24.04

FROM ${BUILD_IMAGE} AS build
ARG CUDA=ON
WORKDIR /source
COPY deploy/install-packages deploy/
RUN deploy/install-packages build
COPY . .
RUN cmake -S . -B /build -G Ninja -DCMAKE_BUILD_TYPE=Release -DKERNELWIRE_CUDA=${CUDA} -DKERNELWIRE_TESTS=OFF \
        -DCMAKE_INSTALL_PREFIX=/opt/kernelwire -DCMAKE_INSTALL_RPATH=/opt/kernelwire/lib \
 && cmake --build /build --target kernelwire_server kernelwire_cli \
 && mkdir -p /image/bin \
 && install -s /build/server/kernelwire-server /build/client/cli/kernelwire /image/bin/ \
 && deploy/gather-libraries /image/lib /image/bin/*

FROM ${RUN_IMAGE}
LABEL org.opencontainers.image.title="kernelwire" \
      org.opencontainers.image.description="GPU kernels behind a gRPC port: the Open Inference Protocol" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /image /opt/kernelwire
# Without NVIDIA's base image these say which GPUs and which parts of the driver the container gets.
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    LD_LIBRARY_PATH=/opt/kernelwire/lib \
    PATH=/opt/kernelwire/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
USER 65532:65532
EXPOSE 8001 8002
STOPSIGNAL SIGTERM
# Asks port 8001, whatever --address says: with another, give docker run
# --health-cmd='kernelwire-server --probe=localhost:9000' too, or --no-healthcheck.
HEALTHCHECK --interval=10s --timeout=2s --start-period=30s CMD ["kernelwire-server", "--probe=localhost:8001"]
ENTRYPOINT ["kernelwire-server"]
