{{- define "bathysphere.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "bathysphere.secret" -}}
{{ .Values.secret.name | default (include "bathysphere.name" .) }}
{{- end }}

{{- define "bathysphere.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "bathysphere.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "bathysphere.labels" -}}
{{ include "bathysphere.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* A value of the settings as text; a large number keeps its digits. */}}
{{- define "bathysphere.text" -}}
{{ kindIs "string" . | ternary . (toJson .) }}
{{- end }}

{{- /* Variables of every process: the settings, and the hosts of the ingress. */}}
{{- define "bathysphere.settings" -}}
{{- $settings := dict -}}
{{- if and .Values.ingress.enabled .Values.ingress.hosts -}}
{{- $_ := set $settings "BATHYSPHERE_ALLOWED_HOSTS" (join "," .Values.ingress.hosts) -}}
{{- end -}}
{{- range $name, $value := .Values.settings -}}
{{- if kindIs "invalid" $value -}}
{{- $_ := unset $settings $name -}}
{{- else -}}
{{- $_ := set $settings $name (include "bathysphere.text" $value) -}}
{{- end -}}
{{- end -}}
{{ toYaml $settings }}
{{- end }}

{{- /* What all pods have in common: no rights, a read-only file system, and /tmp. */}}
{{- define "bathysphere.pod" -}}
automountServiceAccountToken: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
volumes:
  - name: tmp
    emptyDir: {}
{{- end }}

{{- define "bathysphere.container" -}}
image: {{ include "bathysphere.image" . }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: ["ALL"]
volumeMounts:
  - name: tmp
    mountPath: /tmp
{{- end }}

{{- define "bathysphere.variable" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
{{- end }}

{{- /* The pods of a process that serves or works on runs. Takes (list $ component arguments). */}}
{{- define "bathysphere.process" -}}
{{- $ := index . 0 -}}
{{- $component := index . 1 -}}
{{- $arguments := index . 2 -}}
{{- $values := index $.Values $component -}}
{{- $secret := include "bathysphere.secret" $ -}}
metadata:
  labels:
    {{- include "bathysphere.selector" $ | nindent 4 }}
    app.kubernetes.io/component: {{ $component }}
  annotations:
    prometheus.io/scrape: "true"
    prometheus.io/port: "9100"
    checksum/settings: {{ include "bathysphere.settings" $ | sha256sum }}
    {{- if $.Values.secret.create }}
    checksum/secret: {{ toJson $.Values.secret | sha256sum }}
    {{- end }}
spec:
  {{- include "bathysphere.pod" $ | nindent 2 }}
  terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "bathysphere.selector" $ | nindent 10 }}
          app.kubernetes.io/component: {{ $component }}
  {{- with $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ $component }}
      {{- include "bathysphere.container" $ | nindent 6 }}
      args: {{ toJson $arguments }}
      ports:
        {{- if eq $component "api" }}
        - name: http
          containerPort: 8123
        {{- end }}
        - name: probes
          containerPort: 9100
      envFrom:
        - configMapRef:
            name: {{ include "bathysphere.name" $ }}
        # Models and the keys of their providers, by the names of their variables.
        - secretRef:
            name: {{ $.Values.modelsSecret | default (printf "%s-models" (include "bathysphere.name" $)) }}
            optional: true
      env:
        {{- include "bathysphere.variable" (dict "name" "BATHYSPHERE_DATABASE_URL" "secret" $secret "key" "database-url") | nindent 8 }}
        {{- include "bathysphere.variable" (dict "name" "BATHYSPHERE_REDIS_URL" "secret" $secret "key" "redis-url") | nindent 8 }}
        {{- include "bathysphere.variable" (dict "name" "BATHYSPHERE_RESEARCH_SIGNING_KEY" "secret" $secret "key" "research-signing-key") | nindent 8 }}
        {{- with $.Values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      startupProbe:
        httpGet:
          path: /livez
          port: probes
        periodSeconds: 2
        failureThreshold: 60
      livenessProbe:
        httpGet:
          path: /livez
          port: probes
        periodSeconds: 10
        timeoutSeconds: 5
        # A tool may block a worker's event loop for minutes; the worker itself detects a dead loop.
        failureThreshold: {{ eq $component "worker" | ternary 100 3 }}
      readinessProbe:
        httpGet:
          path: /readyz
          port: probes
        periodSeconds: 5
        timeoutSeconds: 5
      resources:
        {{- toYaml $values.resources | nindent 8 }}
{{- end }}

{{- /* At most one pod of a component unavailable at a time. Takes (list $ component). */}}
{{- define "bathysphere.disruptions" -}}
{{- $ := index . 0 -}}
{{- $component := index . 1 -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "bathysphere.name" $ }}-{{ $component }}
  labels:
    {{- include "bathysphere.labels" $ | nindent 4 }}
    app.kubernetes.io/component: {{ $component }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "bathysphere.selector" $ | nindent 6 }}
      app.kubernetes.io/component: {{ $component }}
{{- end }}

{{- define "bathysphere.deployment" -}}
{{- $ := index . 0 -}}
{{- $component := index . 1 -}}
{{- $values := index $.Values $component -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "bathysphere.name" $ }}-{{ $component }}
  labels:
    {{- include "bathysphere.labels" $ | nindent 4 }}
    app.kubernetes.io/component: {{ $component }}
spec:
  {{- if not $values.autoscaling.enabled }}
  replicas: {{ $values.replicas }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "bathysphere.selector" $ | nindent 6 }}
      app.kubernetes.io/component: {{ $component }}
  template:
    {{- include "bathysphere.process" . | nindent 4 }}
{{- end }}
