# The commands in a small image, for a user without rights:
#   docker build -t visualwords .
#   docker run --rm -v "$PWD":/data visualwords train photos/ -o photos.vw
#   docker run --rm -p 8000:8000 -v "$PWD":/data visualwords serve photos.vw --host 0.0.0.0 --api-key-file key
FROM python:3.12-slim AS build
COPY . /source
RUN python -m venv /opt/visualwords && /opt/visualwords/bin/pip install --no-cache-dir /source

FROM python:3.12-slim
COPY --from=build /opt/visualwords /opt/visualwords
RUN useradd --create-home --uid 1000 user
# What is compiled at the first run stays in the image: the first answer is as fast as the next.
USER user
RUN /opt/visualwords/bin/classify-images demo -o /tmp/demo --quiet && rm -r /tmp/demo
WORKDIR /data
EXPOSE 8000
# Of `serve` and `studio`; the command ends by itself in other runs.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["/opt/visualwords/bin/python", "-c", \
    "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["/opt/visualwords/bin/classify-images"]
CMD ["--help"]
